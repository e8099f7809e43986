package retrytopics

import (
	"cmp"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

func taskAt(offset int64) *task { return &task{raw: &kgo.Record{Offset: offset}, record: &Record{}} }

func sortTasks(tasks []*task) {
	slices.SortFunc(tasks, func(a, b *task) int { return cmp.Compare(a.raw.Offset, b.raw.Offset) })
}

func keyed(offset int64, key string) *task {
	t := taskAt(offset)
	t.raw.Key = []byte(key)
	return t
}

func TestSchedulerRunsOneTaskPerKeyInOrder(t *testing.T) {
	s := newScheduler(time.Millisecond, func() {})
	defer s.close()
	s.add([]*task{keyed(0, "a"), keyed(1, "a"), keyed(2, "b")})
	first, epoch := s.next()
	second, _ := s.next()
	if first.raw.Offset != 0 || second.raw.Offset != 2 {
		t.Fatalf("ran offsets %d and %d side by side, want 0 and 2", first.raw.Offset, second.raw.Offset)
	}
	s.done(first, epoch)
	if third, _ := s.next(); third.raw.Offset != 1 {
		t.Errorf("then offset %d, want 1", third.raw.Offset)
	}
}

func TestSchedulerNeverStartsEarlyAndNeverWaitsForALaterOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScheduler(time.Millisecond, func() {})
		defer s.close()
		begin := time.Now()
		var tasks []*task
		for offset, due := range []time.Duration{60 * time.Second, 2 * time.Second, time.Second, 0} {
			task := taskAt(int64(offset))
			task.wake = begin.Add(due)
			tasks = append(tasks, task)
		}
		s.add(tasks)
		for _, want := range []int64{3, 2, 1, 0} {
			got, _ := s.next()
			if got.raw.Offset != want || !time.Now().Equal(latest(got.wake, begin)) {
				t.Fatalf("offset %d ran %v after the start, want offset %d exactly when due (%v)",
					got.raw.Offset, time.Since(begin), want, got.wake.Sub(begin))
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

func TestSchedulerResetDropsResultsOfRunningTasks(t *testing.T) {
	s := newScheduler(time.Millisecond, func() {})
	defer s.close()
	s.add([]*task{keyed(0, "a"), keyed(1, "a")})
	running, epoch := s.next()
	s.reset()
	s.add([]*task{keyed(0, "a")})
	again, epoch2 := s.next()
	s.done(running, epoch)
	if got := s.harvest(); len(got) != 0 {
		t.Fatalf("the old assignment's result came through: %d", len(got))
	}
	s.done(again, epoch2)
	if got := s.harvest(); len(got) != 1 || got[0] != again {
		t.Fatalf("harvested %d results, want the new one", len(got))
	}
}

func TestSchedulerDrainLetsRunningTasksFinishAndStartsNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScheduler(time.Millisecond, func() {})
		defer s.close()
		s.add([]*task{taskAt(0), taskAt(1)})
		running, epoch := s.next()
		drained := false
		go func() { s.drain(); drained = true }()
		synctest.Wait()
		if drained {
			t.Fatal("drained while a task was running")
		}
		s.done(running, epoch)
		synctest.Wait()
		if !drained {
			t.Fatal("not drained after the last task finished")
		}
	})
}
