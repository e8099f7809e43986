package schedule

import (
	"hash/maphash"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// partitionOf returns a partition of a tier, or of the source.
func partitionOf(t *testing.T, tier int) *Partition {
	t.Helper()
	return NewPartition(t.Context(), tier, nil, nil)
}

// roomy returns the configuration of a scheduler with room for all records of a test.
func roomy() Config {
	return Config{Now: time.Now, Linger: time.Millisecond, Unfinished: 1000, HeldBytes: 64 << 20, Ripe: func() {}, Late: func(*Task) {}}
}

func scheduling(t *testing.T, c Config) *Scheduler {
	t.Helper()
	s := New(c)
	t.Cleanup(func() { s.Close() })
	return s
}

// sameSeed makes equal keys of all tests have the same hash.
var sameSeed = maphash.MakeSeed()

func taskAt(p *Partition, offset int64) *Task {
	return &Task{Partition: p, Offset: offset, Index: offset}
}

// given returns tasks in the form in which the scheduler takes them.
func given(tasks ...*Task) []Record {
	var records []Record
	for _, t := range tasks {
		records = append(records, t.queued())
	}
	return records
}

func keyed(p *Partition, offset int64, key string) *Task {
	t := taskAt(p, offset)
	t.Keyed, t.KeyHash = true, maphash.String(sameSeed, key)
	return t
}

func TestSchedulerRunsOneTaskPerKeyInOrder(t *testing.T) {
	t.Parallel()
	s := scheduling(t, roomy())
	l := partitionOf(t, Source)
	s.Add(given(keyed(l, 0, "a"), keyed(l, 1, "a"), keyed(l, 2, "b")))
	first := s.Next()
	second := s.Next()
	must.That(t, first.Offset == 0 && second.Offset == 2, "ran offsets %d and %d concurrently, want 0 and 2", first.Offset, second.Offset)
	s.Finish(first)
	expect.Equal(t, s.Next().Offset, 1, "then offset")
}

func TestSchedulerNeverStartsEarlyAndNeverWaitsForALaterOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := scheduling(t, roomy())
		begin := time.Now()
		var tasks []*Task
		for offset, due := range []time.Duration{60 * time.Second, 2 * time.Second, time.Second, 0} {
			task := taskAt(partitionOf(t, Source), int64(offset))
			task.Wake = begin.Add(due)
			tasks = append(tasks, task)
		}
		s.Add(given(tasks...))
		for _, want := range []int64{3, 2, 1, 0} {
			got := s.Next()
			if got.Offset != want || !time.Now().Equal(latest(got.Wake, begin)) {
				t.Fatalf("offset %d ran %v after the start, want offset %d exactly when due (%v)",
					got.Offset, time.Since(begin), want, got.Wake.Sub(begin))
			}
		}
	})
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func TestSchedulerDropForgetsAllOfAPartitionThatIsGone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := scheduling(t, roomy())
		gone, stays := partitionOf(t, Source), partitionOf(t, Source)
		later := taskAt(gone, 9)
		later.Wake = time.Now().Add(time.Second)
		kept := keyed(stays, 0, "a")
		s.Add(given(keyed(gone, 0, "a"), keyed(gone, 1, "a"), keyed(gone, 2, "b"), later, kept))
		running := s.Next()
		s.Drop([]*Partition{gone})
		expect.That(t, gone.Context.Err() != nil && stays.Context.Err() == nil, "the contexts of the handlers of the wrong partition were cancelled")
		again := keyed(partitionOf(t, Source), 0, "a")
		s.Add(given(again))
		got := s.Next()
		expect.That(t, got == kept, "ran %+v, want the partition that stays", got)
		got = s.Next()
		expect.That(t, got == again, "ran %+v, want the new one of its number", got)
		time.Sleep(2 * time.Second) // virtual; the dropped task's time comes
		s.Finish(running)
		s.Finish(kept)
		s.Finish(again)
		if got := s.Harvest(); len(got) != 2 || s.source.len() != 0 {
			t.Errorf("harvested %d results, %d tasks runnable; want 2 and 0", len(got), s.source.len())
		}
	})
}

func TestSchedulerDrainLetsRunningTasksFinishAndStartsNoMore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := scheduling(t, roomy())
		l := partitionOf(t, Source)
		s.Add(given(taskAt(l, 0), taskAt(l, 1)))
		running := s.Next()
		drained := false
		go func() { s.Drain(); drained = true }()
		synctest.Wait()
		must.That(t, !drained, "drained while a task was running")
		s.Finish(running)
		synctest.Wait()
		must.That(t, drained, "not drained after the last task finished")
	})
}

func TestSchedulerTakesWhatIsDueInTurnWithTheSource(t *testing.T) {
	t.Parallel()
	s := scheduling(t, roomy())
	source, tier := partitionOf(t, Source), partitionOf(t, Source)
	tier.Tier = 0
	positions := map[*Partition]int64{}
	at := func(l *Partition) *Task {
		task := taskAt(l, positions[l])
		task.Index = positions[l]
		positions[l]++
		return task
	}
	s.Add(given(at(source), at(source), at(source), at(tier), at(tier), at(tier), at(tier)))
	var got []int
	for range 7 {
		got = append(got, s.Next().Partition.Tier)
	}
	want := []int{Source, 0, Source, 0, Source, 0, 0}
	expect.That(t, slices.Equal(got, want), "taken from tiers %v, want %v", got, want)
}
