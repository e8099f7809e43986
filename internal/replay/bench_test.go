package replay

import (
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/chain"
	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/replay/plan"
	"github.com/switchback-geo/switchback/internal/replay/ramp"
)

// What one letter costs the replayer's own processor, without client and broker: to decide, to encode and to chain.
func BenchmarkPrepare(b *testing.B) {
	const n = batchLetters
	cfg, err := config.Parse("pipeline.yaml", []byte("pipeline:\n  id: features\n  retry_policy: { max_attempts: 5, base_delay_seconds: 2.0, retryable_status_codes: [429] }\n  tolerance: { max_null_rate: 1, halt_on_geometry_invalid: false }\n"), func(string) string { return "" })
	if err != nil {
		b.Fatal(err)
	}
	s, err := New(cfg, Options{By: "ana"})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	var records []*kgo.Record
	for i := range n {
		r := letter(0, fmt.Sprintf("0-%d-aabbccdd", i), fmt.Sprintf(square, fmt.Sprint(i)))
		r.Offset = int64(i)
		records = append(records, r)
	}
	p, err := plan.Make(plan.Head{ID: "replay-20261103T040506Z-1a2b3c4d", Pipeline: "features", Source: "features", DLQ: "features.dlq", MadeAt: time.Now()}, func(w *plan.Writer) error {
		for i, r := range records {
			c := controlOf(0, fmt.Sprintf("0-%d-aabbccdd", i), string(r.Value))
			if err := w.Add(&plan.Letter{Offset: r.Offset, ID: c.DeadLetterID, ContentHash: c.ContentHash, Group: "012345678912", Died: "geometry_invalid", FeatureID: c.FeatureID, Size: len(r.Value), Do: plan.Reinject, Today: plan.Verdict{Passes: true}}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		j := &job{service: s, plan: p, pace: ramp.NewPace(0), op: operation{id: p.ID, by: "ana", reason: "fixed the rings", plan: p.Checksum, word: "replay"}}
		r := &run{job: j, standing: newStanding(3, ""), trail: &trail{topic: "a", statusTopic: "s", partitions: 1, statusPartitions: 1, heads: map[int32]chain.Link{}}}
		letters, stop, err := p.Walk()
		if err != nil {
			b.Fatal(err)
		}
		r.walk = new(walk)
		for _, rec := range records {
			l, err := letters()
			if err != nil {
				b.Fatal(err)
			}
			dead := deadletters.Decode(rec, true)
			r.walk.chunk = append(r.walk.chunk, spotted{plan: l, letter: &dead})
		}
		if _, err := r.prepare(limits{letters: n}); err != nil {
			b.Fatal(err)
		}
		stop()
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/n, "us/letter")
}
