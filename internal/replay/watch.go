package replay

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/recordbatch"
)

// watch follows how far a consumer group has come in what was put back out of a DLQ without a pipeline.
//
// It proves that the group has committed beyond a record. Whether the consumer did with it what it should is told by the DLQ alone: when
// the record dies again.
type watch struct {
	client *kgo.Client
	admin  *kadm.Client
	group  string
	last   map[partition]int64 // offset of the last record in each partition that has to be passed
}

func (s *Service) newWatch(group string) *watch {
	return &watch{client: s.client, admin: kadm.NewClient(s.client), group: group, last: map[partition]int64{}}
}

// earlier takes up that records were put back into topics before, nobody knows where: the group has to pass the last record that lies in
// each partition now. It need not pass the marker behind that, which a Java consumer commits only together with a later record.
func (w *watch) earlier(ctx context.Context, topics []string) error {
	if w == nil {
		return nil
	}
	for _, topic := range topics {
		spans, err := kafka.DecidedSpans(ctx, w.client, topic)
		if err != nil {
			return err
		}
		for p, span := range spans {
			last, err := lastRecord(ctx, w.client, topic, p, span)
			if err != nil {
				return err
			}
			if last >= 0 {
				w.sent(partition{topic, p}, last)
			}
		}
	}
	return nil
}

// lastRecord returns the offset of the last record in a span; -1 when only markers and aborted records lie there.
func lastRecord(ctx context.Context, client *kgo.Client, topic string, p int32, span kafka.Span) (last int64, err error) {
	last = -1
	note := func(r *kgo.Record) error {
		last = r.Offset
		return nil
	}
	large := func(l *recordbatch.Large) error {
		last = l.Last
		return nil
	}
	for back := int64(16); ; back *= 16 {
		tail := kafka.Span{Start: max(span.Start, span.End-back), End: span.End}
		if err := kafka.ScanWith(ctx, client, topic, map[int32]kafka.Span{p: tail}, 1, note, large); err != nil {
			return 0, fmt.Errorf("find the last record of %s/%d: %w", topic, p, kafka.DeniedTopic("Read", topic, err))
		}
		if last >= 0 || tail.Start == span.Start {
			return last, nil
		}
	}
}

// sent takes up where a record was put back.
func (w *watch) sent(at partition, offset int64) {
	if w != nil {
		w.last[at] = max(w.last[at], offset)
	}
}

// behind returns how many offsets the group has before it until it has passed all that was put back. Transaction markers between the
// records count, too. Without a watch it is 0.
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
