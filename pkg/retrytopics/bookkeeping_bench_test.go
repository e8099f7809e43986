package retrytopics

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/idempotency"
)

// BenchmarkBookkeeping is what the engine itself spends on an event that succeeds at once, in strict order with the ledger
// on: everything between the client's poll and its produce, one goroutine, no broker. bench/engine measures the whole.
func BenchmarkBookkeeping(b *testing.B) { benchmarkBookkeeping(b, false) }

// BenchmarkBookkeepingVersions is the same where the newest version of each key is remembered besides.
func BenchmarkBookkeepingVersions(b *testing.B) { benchmarkBookkeeping(b, true) }

func benchmarkBookkeeping(b *testing.B, versioned bool) {
	const batch, keys = 4096, 100_000
	e, err := New(Config{
		Brokers: []string{"none"}, Source: "in", Group: "g", Membership: Membership{Instance: "bench"},
		Ordering: Ordering{Mode: OrderStrict, Versioned: versioned}, Dedupe: Dedupe{Window: time.Hour}, Timing: Timing{Commit: time.Hour},
		Handler: func(_ context.Context, r *Record) (Result, error) {
			at := r.Timestamp.UnixNano()
			return Result{
				Version:  &at,
				Identity: Identity{FeatureID: "parcel", ContentHash: string(r.Value)},
				Outputs:  []*kgo.Record{{Topic: "out", Key: r.Key, Value: r.Value}},
			}, nil
		},
	})
	if err != nil {
		b.Fatal(err)
	}
	s := e.unconnected(b.Context(), 10<<20)
	s.layout = &layout{states: true, ids: map[string]topicID{"in": {1}}}
	s.sched.pace(batch)
	tp := topicPartition{"in", 0}
	if err := s.start(tp, sourceLane, mark{offset: 0}); err != nil {
		b.Fatal(err)
	}
	w := &worker{e: e}
	b.ReportAllocs()
	for offset := int64(0); offset < int64(b.N); {
		b.StopTimer()
		records := make([]*kgo.Record, min(batch, int64(b.N)-offset))
		for i := range records {
			n := offset + int64(i)
			records[i] = &kgo.Record{
				Topic: "in", Offset: n, Key: fmt.Appendf(nil, "municipality/parcel-%d", n*7919%keys),
				Value: []byte(idempotency.Of(fmt.Append(nil, n)).String()), Timestamp: time.Unix(n, 0),
			}
		}
		offset += int64(len(records))
		b.StartTimer()
		s.through(b, w, s.lanes[tp], records)
	}
}

// through takes records all the way.
func (s *session) through(b *testing.B, w *worker, l *lane, records []*kgo.Record) {
	all := make([]taken, 0, len(records))
	now := time.Now()
	for _, r := range records {
		t, _ := s.take(l, r, now)
		all = append(all, t)
	}
	s.sched.add(all)
	t := s.sched.next()
	for n := range all {
		if held, undone := w.attempt(l.ctx, t); held != nil || undone || t.event.Decision.Outcome != OutcomeDelivered {
			b.Fatalf("event is %+v", t.event.Decision)
		}
		if n < len(all)-1 {
			t = s.sched.exchange(t)
		}
	}
	s.sched.done(t)
	staged := s.stage()
	if _, err := s.e.memories(staged); err != nil {
		b.Fatal(err)
	}
	s.settled(staged)
}
