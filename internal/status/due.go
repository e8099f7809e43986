package status

import (
	"context"
	"errors"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"

	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// errFound ends a scan.
var errFound = errors.New("found")

// dueReads is how many partitions are read at once.
const dueReads = 8

// DueTimes reads when the first record that waits in each retry topic is due. All records of a retry topic wait equally long, so it is the
// earliest of its partition. One that does not say when it is due says nothing. It reads one record of each partition in which any waits:
// who shows it often keeps it for some seconds.
func (f *Flow) DueTimes(ctx context.Context, cl *kgo.Client) error {
	var mu sync.Mutex
	reads, ctx := errgroup.WithContext(ctx)
	reads.SetLimit(dueReads)
	for i := range f.Tiers {
		t := &f.Tiers[i]
		for _, p := range f.waits[i] {
			if p.Lag == 0 {
				continue
			}
			reads.Go(func() error {
				err := kafka.Scan(ctx, cl, t.Topic, map[int32]kafka.Span{p.Partition: {Start: p.End - p.Lag, End: p.End}}, func(r *kgo.Record) error {
					mu.Lock()
					defer mu.Unlock()
					if c, err := header.ParseControl(r.Headers); err == nil && !c.Due.IsZero() && (t.Due == nil || c.Due.Before(*t.Due)) {
						t.Due = &c.Due
					}
					return errFound
				})
				if errors.Is(err, errFound) {
					return nil
				}
				return err
			})
		}
	}
	return reads.Wait()
}
