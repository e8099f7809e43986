package deadletters

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// ErrNoTopic marks a topic that does not exist. Match it with errors.Is.
var ErrNoTopic = errors.New("topic does not exist")

// Span is the part of one partition that is read: from Start up to, not including, End.
type Span struct{ Start, End int64 }

// Spans gives, for each partition of a topic, what can be read now with read_committed: from the
// log's start to the last stable offset. Records that come later are not part of it.
func Spans(ctx context.Context, cl *kgo.Client, topic string) (map[int32]Span, error) {
	admin := kadm.NewClient(cl)
	partitions, err := Partitions(ctx, cl, topic)
	if err != nil {
		return nil, err
	}
	// The end first: a start that retention moves in between is then never behind the end.
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
			return nil, fmt.Errorf("list the offsets of %s/%d: %w", topic, p, err)
		}
		spans[p] = Span{Start: start.Offset, End: end.Offset}
	}
	return spans, nil
}

// Partitions lists the partitions of a topic in ascending order. The error is [ErrNoTopic] when
// there is no such topic.
func Partitions(ctx context.Context, cl *kgo.Client, topic string) ([]int32, error) {
	details, err := kadm.NewClient(cl).ListTopics(ctx, topic)
	if err != nil {
		return nil, fmt.Errorf("look up topic %s: %w", topic, err)
	}
	detail, ok := details[topic]
	if !ok || errors.Is(detail.Err, kerr.UnknownTopicOrPartition) {
		return nil, fmt.Errorf("%w: %s; create it with: consumer topics ensure", ErrNoTopic, topic)
	}
	if detail.Err != nil {
		return nil, fmt.Errorf("look up topic %s: %w", topic, detail.Err)
	}
	partitions := make([]int32, 0, len(detail.Partitions))
	for p := range detail.Partitions {
		partitions = append(partitions, p)
	}
	slices.Sort(partitions)
	return partitions, nil
}
