package schedule

import (
	"math/rand/v2"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/offsets"
)

// Whatever becomes due first, the offsets finished beyond the committed one always fit into the commit's metadata.
func TestGate_keepsTheMetadataSmall(t *testing.T) {
	t.Parallel()
	const metadata = 400
	for seed := range uint64(50) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		c := roomy()
		c.Unfinished = offsets.MostUnfinished(metadata)
		s := New(c)
		p, window := partitionOf(t, Source), offsets.NewWindow(0, nil)
		var tasks []*Task
		for o := range int64(3000) {
			window.Add(o * 3)
			task := taskAt(p, o)
			task.Offset = o * 3
			tasks = append(tasks, task)
		}
		rnd.Shuffle(len(tasks), func(i, j int) { tasks[i], tasks[j] = tasks[j], tasks[i] })
		s.Pace(len(tasks), paceTarget)
		s.Add(given(tasks...)) // as if they had become due in this order
		for done := range tasks {
			must.That(t, s.source.len() != 0, "seed %d: the partition is stuck after %d records", seed, done)
			items := s.source.items()
			i := rnd.IntN(len(items))
			items[0], items[i] = items[i], items[0]
			finished := s.Next()
			s.Finish(finished)
			window.Finish(finished.Offset)
			m := window.Commit()
			must.That(t, len(m.Metadata) <= metadata, "seed %d: %d bytes of metadata, limit %d, %d runs, gate %d/%d blocked %d %v", seed, len(m.Metadata), metadata, len(window.Finished()), p.gate.started, p.gate.finished, p.gate.blocked.len(), c.Unfinished)
		}
		expect.Equal(t, window.Commit(), (offsets.Commit{Offset: 2999*3 + 1}), "seed", seed, "mark")
		s.Close()
	}
}

// Restored runs whose records were removed by compaction or retention make room at once: blocked records start before
// records that come later.
func TestGate_letsNoRecordOvertake(t *testing.T) {
	t.Parallel()
	c := roomy()
	c.Unfinished = 4
	s := scheduling(t, c)
	p := partitionOf(t, Source)
	at := func(index, restored int64) Record {
		r := keyed(p, index, "k").queued()
		r.Restored = restored
		return r
	}
	s.Add([]Record{at(0, 3), at(1, 3), at(2, 3)})
	s.Add([]Record{at(3, 0)})
	for want := range int64(4) {
		must.That(t, s.source.len() != 0, "offset %d is not runnable", want)
		got := s.Next()
		must.That(t, got.Offset == want, "offset %d ran, want %d: both have one key", got.Offset, want)
		s.Finish(got)
	}
}
