package retrytopics

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// A random walk against the plainest model: sets of offsets. At random moments the owner changes, and the next one starts
// from the mark alone.
func TestWindowAgainstModelOverOwnerChanges(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 1))
			var log []int64 // offsets that hold records
			for at := int64(rnd.IntN(5)); len(log) < 300; at += 1 + int64(rnd.IntN(3)) {
				log = append(log, at)
			}
			done := map[int64]int{}
			committed := commitPoint{offset: -1}
			for {
				spans := must.Get(decodeAhead(max(committed.offset, 0), committed.metadata))(t)
				w := newWindow(committed.offset, spans)
				w.compact = 8 // merge often
				if walk(w, log, committed.offset, rnd, done, &committed) {
					break
				}
			}
			for _, o := range log {
				if done[o] != 1 {
					t.Fatalf("offset %d finished %d times", o, done[o])
				}
			}
		})
	}
}

// walk lets one owner take and finish records for a while; what it finished counts once it is committed.
func walk(w *window, log []int64, from int64, rnd *rand.Rand, done map[int64]int, committed *commitPoint) (all bool) {
	var open, finished []int64
	at := 0
	for at < len(log) && log[at] < from {
		at++
	}
	for range 60 + rnd.IntN(200) {
		switch n := rnd.IntN(10); {
		case n < 5 && at < len(log):
			if w.add(log[at]) {
				open = append(open, log[at])
			}
			at++
		case n < 9 && len(open) > 0:
			i := rnd.IntN(len(open))
			finished = append(finished, open[i])
			open = append(open[:i], open[i+1:]...)
		default:
			for _, o := range finished {
				w.finish(o)
				done[o]++
			}
			finished = nil
			*committed = w.commitPoint()
		}
	}
	return committed.offset > log[len(log)-1]
}

// What is finished far beyond the prefix must always fit into the commit's metadata, whatever falls due first.
func TestGateKeepsTheMetadataSmallAndTheLaneMoving(t *testing.T) {
	t.Parallel()
	const metadata = 400
	for seed := range uint64(50) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		s := newScheduler(time.Millisecond, maxAhead(metadata), 64<<20, func() {})
		l := partitionAt(t, 0)
		var tasks []*task
		for o := range int64(3000) {
			l.window.add(o * 3)
			task := taskAt(l, o)
			task.raw.Offset = o * 3
			tasks = append(tasks, task)
		}
		rnd.Shuffle(len(tasks), func(i, j int) { tasks[i], tasks[j] = tasks[j], tasks[i] })
		s.pace(len(tasks))
		s.add(given(tasks)) // as if they had fallen due in this order
		for done := range tasks {
			must.That(t, s.runnable.len() != 0, "seed %d: the lane is stuck after %d records", seed, done)
			items := s.runnable.items()
			i := rnd.IntN(len(items))
			items[0], items[i] = items[i], items[0]
			finished := s.next()
			s.done(finished)
			l.window.finish(finished.raw.Offset)
			if m := l.window.commitPoint(); len(m.metadata) > metadata {
				t.Fatalf("seed %d: %d bytes of metadata, limit %d, %d runs, gate %d/%d blocked %d %v", seed, len(m.metadata), metadata, len(l.window.ahead()), l.gate.started, l.gate.finished, l.gate.blocked.len(), s.ahead)
			}
		}
		if m := l.window.commitPoint(); m != (commitPoint{offset: 2999*3 + 1}) {
			t.Errorf("seed %d: mark %+v at the end", seed, m)
		}
		s.close()
	}
}

// Markers of transactions hold no record: they neither separate runs nor keep the position back.
func TestWindowPassesMarkers(t *testing.T) {
	t.Parallel()
	w := newWindow(0, nil)
	w.add(0)
	w.pass(1)
	w.add(2)
	w.pass(3)
	if w.finish(2); w.commitPoint().offset != 0 || len(w.ahead()) != 1 {
		t.Errorf("mark %+v", w.commitPoint())
	}
	if w.finish(0); w.commitPoint() != (commitPoint{offset: 4}) {
		t.Errorf("mark %+v at the end, want offset 4", w.commitPoint())
	}
	expect.That(t, !w.expects(3) && w.expects(4), "the end of the window is not behind the marker")
}

func FuzzAheadMetadata(f *testing.F) {
	f.Add(int64(0), "")
	f.Add(int64(5), encodeAhead(5, []span{{7, 9}, {12, 12}}))
	f.Add(int64(1), "kgo-member-id")
	f.Add(int64(1), "d2:AAAA")
	f.Fuzz(func(t *testing.T, next int64, metadata string) {
		if next < 0 {
			return
		}
		spans, err := decodeAhead(next, metadata)
		if err != nil || len(spans) == 0 {
			return
		}
		again, err := decodeAhead(next, encodeAhead(next, spans))
		must.That(t, err == nil && reflect.DeepEqual(again, spans), "%v became %v (%v)", spans, again, err)
	})
}

// Runs of a former owner whose records are gone meanwhile, as compaction and retention do, give room at once: what waits for it
// goes before what comes then.
func TestGateLetsNoRecordOvertakeWhatWaitsForRoom(t *testing.T) {
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
