package topics

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// FromStart resolves the start offset of fetched positions without a commit. The client would find it on its own, but
// could not be redirected (SetOffsets) before it has returned a record of the partition.
func FromStart(ctx context.Context, adm *kadm.Client, log *slog.Logger, fetched map[string]map[int32]kgo.Offset) map[string]map[int32]kgo.Offset {
	var topics []string
	for topic, partitions := range fetched {
		if slices.ContainsFunc(slices.Collect(maps.Values(partitions)), uncommitted) {
			topics = append(topics, topic)
		}
	}
	if len(topics) == 0 {
		return fetched
	}
	starts, err := adm.ListStartOffsets(ctx, topics...)
	if err != nil {
		log.WarnContext(ctx, "cannot read where the topics start; the client finds it out", "topics", topics, "error", err)
		return fetched
	}
	for _, topic := range topics {
		for partition, at := range fetched[topic] {
			if start, ok := starts.Lookup(topic, partition); ok && start.Err == nil && uncommitted(at) {
				fetched[topic][partition] = kgo.NewOffset().At(start.Offset)
			}
		}
	}
	return fetched
}

// uncommitted reports whether an offset is not one that a group has committed.
func uncommitted(at kgo.Offset) bool { return at.EpochOffset().Offset < 0 }

// DisorderError means that a partition returned a record with a lower offset than records accepted before.
type DisorderError struct {
	Topic     string
	Partition int32
	Offset    int64 // of the record
	Committed int64 // offset
}

// Error names the record.
func (e *DisorderError) Error() string {
	return fmt.Sprintf("%s partition %d sent offset %d out of its order", e.Topic, e.Partition, e.Offset)
}

// ErrTruncated is wrapped when a partition ends before its committed offset: the brokers lost records, or the topic
// was re-created. New records then have the offsets of old ones, so continuing would skip them, or treat them as
// older than the events that took effect. Only a person can decide what is right then.
var ErrTruncated = errors.New("a partition ends before its committed offset")

// Explain asks the brokers for the cause of a DisorderError. Unless the partition was truncated, it returns the error
// unchanged: another session may help.
func Explain(ctx context.Context, adm *kadm.Client, err error) error {
	disorder, ok := errors.AsType[*DisorderError](err)
	if !ok {
		return err
	}
	ends, listErr := adm.ListEndOffsets(ctx, disorder.Topic)
	end, known := ends.Lookup(disorder.Topic, disorder.Partition)
	if listErr != nil || !known || end.Err != nil || end.Offset >= disorder.Committed {
		return err
	}
	return truncated(end, disorder.Committed)
}

// Untruncated refuses partitions that end before their committed offset. The ends must be read after the commits.
func Untruncated(committed kadm.OffsetResponses, ends kadm.ListedOffsets) (err error) {
	ends.Each(func(end kadm.ListedOffset) {
		if c, ok := committed.Lookup(end.Topic, end.Partition); ok && end.Err == nil && c.At > end.Offset && err == nil {
			err = truncated(end, c.At)
		}
	})
	return err
}

func truncated(end kadm.ListedOffset, committed int64) error {
	return fmt.Errorf("%w: %s partition %d ends at offset %d, and %d is committed; the brokers lost records, or the topic was re-created: "+
		"see docs/recreated-topics.md, \"A topic that was cut\"", ErrTruncated, end.Topic, end.Partition, end.Offset, committed)
}
