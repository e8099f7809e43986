package retrytopics

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/offsets"
)

// What is finished far beyond the prefix must always fit into the commit's metadata, whatever falls due first.
func TestGate_keepsTheMetadataSmall(t *testing.T) {
	t.Parallel()
	const metadata = 400
	for seed := range uint64(50) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		s := newScheduler(time.Millisecond, offsets.MostUnfinished(metadata), 64<<20, func() {})
		l := partitionAt(t, 0)
		var tasks []*task
		for o := range int64(3000) {
			l.window.Add(o * 3)
			task := taskAt(l, o)
			task.raw.Offset = o * 3
			tasks = append(tasks, task)
		}
		rnd.Shuffle(len(tasks), func(i, j int) { tasks[i], tasks[j] = tasks[j], tasks[i] })
		s.pace(len(tasks))
		s.add(given(tasks)) // as if they had fallen due in this order
		for done := range tasks {
			must.That(t, s.runnable.len() != 0, "seed %d: the partition is stuck after %d records", seed, done)
			items := s.runnable.items()
			i := rnd.IntN(len(items))
			items[0], items[i] = items[i], items[0]
			finished := s.next()
			s.done(finished)
			l.window.Finish(finished.raw.Offset)
			if m := l.window.Commit(); len(m.Metadata) > metadata {
				t.Fatalf("seed %d: %d bytes of metadata, limit %d, %d runs, gate %d/%d blocked %d %v", seed, len(m.Metadata), metadata, len(l.window.Finished()), l.gate.started, l.gate.finished, l.gate.blocked.len(), s.ahead)
			}
		}
		expect.Equal(t, l.window.Commit(), (offsets.Commit{Offset: 2999*3 + 1}), "seed", seed, "mark")
		s.close()
	}
}

// Runs of a former owner whose records are gone meanwhile, as compaction and retention do, give room at once: what waits for it
// goes before what comes then.
func TestGate_letsNoRecordOvertake(t *testing.T) {
	t.Parallel()
	s := newScheduler(time.Millisecond, 4, 64<<20, func() {})
	defer s.close()
	l := partitionAt(t, 0)
	at := func(index, restored int64) fetched {
		r := keyed(l, index, "k").fetched()
		r.restored = restored
		return r
	}
	s.add([]fetched{at(0, 3), at(1, 3), at(2, 3)})
	s.add([]fetched{at(3, 0)})
	for want := range int64(4) {
		must.That(t, s.runnable.len() != 0, "offset %d is not runnable", want)
		got := s.next()
		must.That(t, got.offset == want, "offset %d ran, want %d: both have one key", got.offset, want)
		s.done(got)
	}
}
