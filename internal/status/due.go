package status

import (
	"context"
	"errors"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// errFound ends a scan.
var errFound = errors.New("found")

// DueTimes reads when the first record that waits in each retry topic is due. All records of a retry topic wait equally long, so it is the
// earliest of its partition. One that does not say when it is due says nothing.
func (f *Flow) DueTimes(ctx context.Context, cl *kgo.Client) error {
	for i := range f.Tiers {
		t := &f.Tiers[i]
		for _, p := range f.waits[i] {
			if p.Lag == 0 {
				continue
			}
			err := kafka.Scan(ctx, cl, t.Topic, map[int32]kafka.Span{p.Partition: {Start: p.End - p.Lag, End: p.End}}, func(r *kgo.Record) error {
				if c, err := header.ParseControl(r.Headers); err == nil && !c.Due.IsZero() && (t.Due == nil || c.Due.Before(*t.Due)) {
					t.Due = &c.Due
				}
				return errFound
			})
			if err != nil && !errors.Is(err, errFound) {
				return err
			}
		}
	}
	return nil
}
