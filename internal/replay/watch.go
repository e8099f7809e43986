package replay

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/switchback-geo/switchback/internal/kafka"
)

// watch follows how far a consumer group has come in what was put back out of a DLQ without a pipeline.
//
// It proves that the group has committed beyond a record. Whether the consumer did with it what it should is told by the DLQ alone: when
// the record dies again.
type watch struct {
	admin *kadm.Client
	group string
	last  map[partition]int64 // offset of the last record in each partition that has to be passed
}

func (s *Service) newWatch(group string) *watch {
	return &watch{admin: kadm.NewClient(s.client), group: group, last: map[partition]int64{}}
}

// earlier takes up that records were put back into topics before, nobody knows where: the group has to pass all that lies there now.
func (w *watch) earlier(ctx context.Context, topics []string) error {
	if w == nil || len(topics) == 0 {
		return nil
	}
	lags, err := kafka.Lag(ctx, w.admin, w.group, kafka.Written, topics...)
	if err != nil {
		return err
	}
	for topic, partitions := range lags {
		for _, p := range partitions {
			if p.End > 0 {
				w.sent(partition{topic, p.Partition}, p.End-1)
			}
		}
	}
	return nil
}

// sent takes up where a record was put back.
func (w *watch) sent(at partition, offset int64) {
	if w != nil {
		w.last[at] = max(w.last[at], offset)
	}
}

// behind returns how many offsets the group has before it until it has passed all that was put back. Transaction markers count, too: they
// lie behind the last record. Without a watch it is 0.
func (w *watch) behind(ctx context.Context) (offsets int64, err error) {
	if w == nil || len(w.last) == 0 {
		return 0, nil
	}
	topics := map[string]bool{}
	for at := range w.last {
		topics[at.topic] = true
	}
	lags, err := kafka.Lag(ctx, w.admin, w.group, kafka.Written, slices.Sorted(maps.Keys(topics))...)
	if err != nil {
		return 0, err
	}
	for topic, partitions := range lags {
		for _, p := range partitions {
			last, sent := w.last[partition{topic, p.Partition}]
			from := p.End - p.Lag // the committed offset, or the start of the partition
			if sent && from <= last {
				offsets += last + 1 - from
			}
		}
	}
	return offsets, nil
}

// checkWatch refuses to watch a group that nobody knows, since it would be waited for in vain.
func (s *Service) checkWatch(ctx context.Context, group string) error {
	if group == "" {
		return nil
	}
	if !s.alone {
		return fmt.Errorf("%w: --watch-group is for a DLQ without a pipeline: a pipeline's consumer says what became of each dead letter", ErrOptions)
	}
	g, err := kafka.DescribeGroup(ctx, kadm.NewClient(s.client), group)
	if err != nil {
		return err
	}
	if len(g.Members) > 0 {
		return nil
	}
	committed, err := kadm.NewClient(s.client).FetchOffsets(ctx, group)
	if err != nil || len(committed) == 0 {
		return fmt.Errorf("%w: --watch-group %s: there is no such consumer group, or it has committed nothing", ErrOptions, group)
	}
	return nil
}
