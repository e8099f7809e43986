package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// ErrNoTopic is wrapped for a topic that does not exist.
var ErrNoTopic = errors.New("topic does not exist")

// Span is the part of one partition to read: from Start to End, exclusive.
type Span struct{ Start, End int64 }

// Spans returns, for each partition of a topic, the span that can be read now with read_committed: from the log start
// to the last stable offset. It does not include later records.
func Spans(ctx context.Context, cl *kgo.Client, topic string) (map[int32]Span, error) {
	admin := kadm.NewClient(cl)
	partitions, err := Partitions(ctx, cl, topic)
	if err != nil {
		return nil, err
	}
	// The end first: a start that retention moves meanwhile is then never after the end.
	ends, err := admin.ListCommittedOffsets(ctx, topic)
	if err != nil {
		return nil, fmt.Errorf("list the end offsets of topic %s: %w", topic, err)
	}
	starts, err := admin.ListStartOffsets(ctx, topic)
	if err != nil {
		return nil, fmt.Errorf("list the start offsets of topic %s: %w", topic, err)
	}
	spans := make(map[int32]Span, len(partitions))
	for _, p := range partitions {
		end, start := ends[topic][p], starts[topic][p]
		if err := errors.Join(end.Err, start.Err); err != nil {
			return nil, fmt.Errorf("list the offsets of %s/%d: %w", topic, p, DeniedTopic("Read", topic, err))
		}
		spans[p] = Span{Start: start.Offset, End: end.Offset}
	}
	return spans, nil
}

// ErrUndecided is wrapped for a topic in which a transaction stays open.
var ErrUndecided = errors.New("a transaction stays open")

const (
	undecidedPause   = 20 * time.Millisecond // before an open transaction is checked again
	undecidedTimeout = 30 * time.Second      // how long to wait for open transactions; those of this software end within 10 s
)

// DecidedSpans is [Spans] for a caller that must miss nothing: it includes everything committed before the call. The
// last stable offset is not enough for that, because an open transaction hides records that others committed after
// its first record. Therefore it waits until the transactions that are open now have ended; the error is
// [ErrUndecided] if one does not.
func DecidedSpans(ctx context.Context, cl *kgo.Client, topic string) (map[int32]Span, error) {
	spans, err := Spans(ctx, cl, topic)
	if err != nil {
		return nil, err
	}
	ends, err := kadm.NewClient(cl).ListEndOffsets(ctx, topic)
	if err != nil {
		return nil, fmt.Errorf("list the end offsets of topic %s: %w", topic, err)
	}
	hidden := func() (int32, bool) {
		for p, span := range spans {
			if end, ok := ends.Lookup(topic, p); ok && end.Err == nil && span.End < end.Offset {
				return p, true
			}
		}
		return 0, false
	}
	for began := time.Now(); ; {
		p, open := hidden()
		if !open {
			return spans, nil
		}
		if time.Since(began) >= undecidedTimeout {
			return nil, fmt.Errorf("%w in %s/%d from offset %d on, and hides the records after it: wait until its writer ends it, or end it with kafka-transactions.sh, and try again",
				ErrUndecided, topic, p, spans[p].End)
		}
		if err := Pause(ctx, undecidedPause); err != nil {
			return nil, fmt.Errorf("wait for an open transaction in %s/%d: %w", topic, p, err)
		}
		if spans, err = Spans(ctx, cl, topic); err != nil {
			return nil, err
		}
	}
}

// Partitions lists the partitions of a topic in ascending order. The error is [ErrNoTopic] if there is no such topic.
func Partitions(ctx context.Context, cl *kgo.Client, topic string) ([]int32, error) {
	details, err := kadm.NewClient(cl).ListTopics(ctx, topic)
	if err != nil {
		return nil, fmt.Errorf("look up topic %s: %w", topic, DeniedTopic("Describe", topic, err))
	}
	detail, ok := details[topic]
	if !ok || errors.Is(detail.Err, kerr.UnknownTopicOrPartition) {
		return nil, fmt.Errorf("%w: %s; create it with: consumer topics ensure", ErrNoTopic, topic)
	}
	if detail.Err != nil {
		return nil, fmt.Errorf("look up topic %s: %w", topic, DeniedTopic("Describe", topic, detail.Err))
	}
	partitions := make([]int32, 0, len(detail.Partitions))
	for p := range detail.Partitions {
		partitions = append(partitions, p)
	}
	slices.Sort(partitions)
	return partitions, nil
}

// Settings returns the settings of one topic by name. The error is the broker's, unchanged (see [DeniedTopic]).
func Settings(ctx context.Context, admin *kadm.Client, topic string) (map[string]string, error) {
	configs, err := admin.DescribeTopicConfigs(ctx, topic)
	if err != nil {
		return nil, err
	}
	found, err := configs.On(topic, nil)
	if err == nil {
		err = found.Err
	}
	if err != nil {
		return nil, err
	}
	settings := map[string]string{}
	for _, c := range found.Configs {
		settings[c.Key] = c.MaybeValue()
	}
	return settings, nil
}

// DescribeGroup describes a consumer group. A group that does not exist, or that no coordinator knows yet, has no
// members and is not an error.
func DescribeGroup(ctx context.Context, admin *kadm.Client, group string) (kadm.DescribedGroup, error) {
	described, err := admin.DescribeGroups(ctx, group)
	g := described[group]
	switch err = cmp.Or(err, g.Err); {
	case errors.Is(err, kerr.GroupIDNotFound), errors.Is(err, kerr.CoordinatorNotAvailable):
		return kadm.DescribedGroup{Group: group}, nil
	case err != nil:
		return g, fmt.Errorf("members of group %s: %w", group, DeniedGroup("Describe", group, err))
	}
	return g, nil
}
