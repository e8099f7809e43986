package retrytopics

import (
	"context"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"
)

// fromStart resolves the start offset of partitions without a commit. The client would find it by itself, but could not
// be redirected (SetOffsets) before it has returned a record of the partition.
func (s *session) fromStart(ctx context.Context, fetched map[string]map[int32]kgo.Offset) (map[string]map[int32]kgo.Offset, error) {
	var topics []string
	for topic, partitions := range fetched {
		if slices.ContainsFunc(slices.Collect(maps.Values(partitions)), uncommitted) {
			topics = append(topics, topic)
		}
	}
	if len(topics) == 0 {
		return fetched, nil
	}
	starts, err := s.adm.ListStartOffsets(ctx, topics...)
	if err != nil {
		s.e.cfg.Logger.WarnContext(ctx, "cannot read where the topics start; the client finds out", "topics", topics, "error", err)
		return fetched, nil
	}
	for _, topic := range topics {
		for partition, at := range fetched[topic] {
			if start, ok := starts.Lookup(topic, partition); ok && start.Err == nil && uncommitted(at) {
				fetched[topic][partition] = kgo.NewOffset().At(start.Offset)
			}
		}
	}
	return fetched, nil
}

// uncommitted reports whether an offset is not one that a group has committed.
func uncommitted(at kgo.Offset) bool { return at.EpochOffset().Offset < 0 }
