package status

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"

	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/recordbatch"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// errFound ends a scan.
var errFound = errors.New("found")

const (
	// timeReads bounds the partitions that are read at once.
	timeReads = 8
	// firstOffsets is the number of offsets that the first read of a partition covers.
	firstOffsets = 4
)

// Times reads the first waiting record of each partition: when the first record of each retry topic is due, and since
// when the oldest record of the source has waited. All records of a retry topic wait equally long, so the first one
// is the earliest of its partition. A record without a due time is ignored. A caller that shows these times often
// should keep them for some seconds.
func (f *Flow) Times(ctx context.Context, cl *kgo.Client) error {
	var mu sync.Mutex
	reads, bounded := errgroup.WithContext(ctx)
	reads.SetLimit(timeReads)
	for i := range f.Tiers {
		t := &f.Tiers[i]
		for _, p := range f.waits[i] {
			reads.Go(func() error {
				return first(bounded, cl, t.Topic, p, func(r *kgo.Record) {
					mu.Lock()
					defer mu.Unlock()
					if c, err := header.ParseControl(r.Headers); err == nil && !c.Due.IsZero() && (t.Due == nil || c.Due.Before(*t.Due)) {
						t.Due = &c.Due
					}
				})
			})
		}
	}
	for _, s := range f.Partitions {
		reads.Go(func() error {
			err := first(bounded, cl, f.source, s, func(r *kgo.Record) {
				mu.Lock()
				defer mu.Unlock()
				f.noteOldest(r)
			})
			if err != nil { // the other times are known
				mu.Lock()
				defer mu.Unlock()
				f.LagUnknown = err.Error()
			}
			return nil
		})
	}
	err := reads.Wait()
	if f.LagUnknown == "" && f.Lag > 0 && f.LagSince == nil {
		f.LagUnknown = "only markers of transactions and aborted records are left" // they count as offsets
	}
	if f.LagUnknown != "" {
		f.LagSince = nil
	}
	return err
}

// noteOldest notes the timestamp of the next record of a partition.
func (f *Flow) noteOldest(r *kgo.Record) {
	switch at := r.Timestamp.UTC(); {
	case at.UnixMilli() <= 0:
		f.LagUnknown = fmt.Sprintf("%s/%d/%d has no timestamp", r.Topic, r.Partition, r.Offset)
	case f.LagSince == nil || at.Before(*f.LagSince):
		f.LagSince = &at
	}
}

// first calls fn with the first waiting record of a partition, if there is one. A record that is too large comes without its value.
func first(ctx context.Context, cl *kgo.Client, topic string, p kafka.PartitionLag, fn func(*kgo.Record)) error {
	found := func(r *kgo.Record) error {
		fn(r)
		return errFound
	}
	from, near := p.End-p.Lag, min(p.End-p.Lag+firstOffsets, p.End) // a broker sends as much as the span allows
	for _, span := range []kafka.Span{{Start: from, End: near}, {Start: near, End: p.End}} {
		err := kafka.ScanWith(ctx, cl, topic, map[int32]kafka.Span{p.Partition: span}, 0, found, func(l *recordbatch.Large) error { return found(l.Record) })
		if errors.Is(err, errFound) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}
