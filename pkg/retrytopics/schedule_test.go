package retrytopics

import (
	"context"
	"errors"
	"hash/maphash"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/offsets"
)

func partitionAt(t *testing.T, committed int64) *partition {
	t.Helper()
	l := must.Get(newPartition(t.Context(), topicPartition{"t", 0}, sourceTier, newPartitionState(0, Dedupe{}), offsets.Commit{Offset: committed}))(t)
	return l
}

// scheduling returns a scheduler with room for all records of a test.
func scheduling(t *testing.T) *scheduler {
	t.Helper()
	s := newScheduler(time.Millisecond, 1000, 64<<20, func() {})
	t.Cleanup(func() { s.close() })
	return s
}

// sameSeed makes equal keys of all tests equal.
var sameSeed = maphash.MakeSeed()

func taskAt(l *partition, offset int64) *task {
	return taskOf(&task{}, fetched{from: l, raw: &kgo.Record{Partition: l.partition, Offset: offset}, index: offset}, sameSeed)
}

// given gives tasks as they are taken.
func given(tasks []*task) []fetched {
	var records []fetched
	for _, t := range tasks {
		records = append(records, t.fetched())
	}
	return records
}

func keyed(l *partition, offset int64, key string) *task {
	return taskOf(&task{}, fetched{from: l, raw: &kgo.Record{Partition: l.partition, Offset: offset, Key: []byte(key)}, index: offset}, sameSeed)
}

func TestSchedulerRunsOneTaskPerKeyInOrder(t *testing.T) {
	t.Parallel()
	s := scheduling(t)
	l := partitionAt(t, 0)
	s.add(given([]*task{keyed(l, 0, "a"), keyed(l, 1, "a"), keyed(l, 2, "b")}))
	first := s.next()
	second := s.next()
	must.That(t, first.raw.Offset == 0 && second.raw.Offset == 2, "ran offsets %d and %d side by side, want 0 and 2", first.raw.Offset, second.raw.Offset)
	s.done(first)
	expect.Equal(t, s.next().raw.Offset, 1, "then offset")
}

func TestSchedulerNeverStartsEarlyAndNeverWaitsForALaterOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := scheduling(t)
		begin := time.Now()
		var tasks []*task
		for offset, due := range []time.Duration{60 * time.Second, 2 * time.Second, time.Second, 0} {
			task := taskAt(partitionAt(t, 0), int64(offset))
			task.wake = begin.Add(due)
			tasks = append(tasks, task)
		}
		s.add(given(tasks))
		for _, want := range []int64{3, 2, 1, 0} {
			got := s.next()
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

func TestSchedulerDropForgetsAllOfALaneThatIsGone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := scheduling(t)
		gone, stays := partitionAt(t, 0), partitionAt(t, 0)
		stays.partition = 1
		later := taskAt(gone, 9)
		later.wake = time.Now().Add(time.Second)
		kept := keyed(stays, 0, "a")
		s.add(given([]*task{keyed(gone, 0, "a"), keyed(gone, 1, "a"), keyed(gone, 2, "b"), later, kept}))
		running := s.next()
		s.drop([]*partition{gone})
		expect.That(t, gone.ctx.Err() != nil && stays.ctx.Err() == nil, "the handlers of the wrong lane were told to end")
		again := keyed(partitionAt(t, 0), 0, "a")
		s.add(given([]*task{again}))
		got := s.next()
		expect.That(t, got == kept, "ran %+v, want the lane that stays", got.raw)
		got = s.next()
		expect.That(t, got == again, "ran %+v, want the new lane of the partition", got.raw)
		time.Sleep(2 * time.Second) // virtual; the dropped task's time comes
		s.done(running)
		s.done(kept)
		s.done(again)
		if got := s.harvest(); len(got) != 2 || s.runnable.len() != 0 {
			t.Errorf("harvested %d results, %d tasks runnable; want 2 and 0", len(got), s.runnable.len())
		}
	})
}

func TestSchedulerDrainLetsRunningTasksFinishAndStartsNoMore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := scheduling(t)
		l := partitionAt(t, 0)
		s.add(given([]*task{taskAt(l, 0), taskAt(l, 1)}))
		running := s.next()
		drained := false
		go func() { s.drain(); drained = true }()
		synctest.Wait()
		must.That(t, !drained, "drained while a task was running")
		s.done(running)
		synctest.Wait()
		must.That(t, drained, "not drained after the last task finished")
	})
}

func TestSchedulerTakesWhatIsDueInTurnWithTheSource(t *testing.T) {
	t.Parallel()
	s := scheduling(t)
	source, tier := partitionAt(t, 0), partitionAt(t, 0)
	tier.tier = 0
	positions := map[*partition]int64{}
	at := func(l *partition) *task {
		task := taskAt(l, positions[l])
		task.index = positions[l]
		positions[l]++
		return task
	}
	s.add(given([]*task{at(source), at(source), at(source), at(tier), at(tier), at(tier), at(tier)}))
	var got []int
	for range 7 {
		got = append(got, s.next().from.tier)
	}
	want := []int{sourceTier, 0, sourceTier, 0, sourceTier, 0, 0}
	expect.That(t, slices.Equal(got, want), "taken from lanes of tiers %v, want %v", got, want)
}

// done takes a finished task back, as a worker does that ends then.
func (s *scheduler) done(t *task) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.finish(t)
}

func TestDeadline(t *testing.T) {
	t.Parallel()
	type name struct{}
	reason := errors.New("partition taken away")
	for _, c := range []struct {
		name  string
		do    func(d *deadline, parent context.CancelCauseFunc)
		err   error
		cause error
	}{
		{"runs", func(*deadline, context.CancelCauseFunc) {}, nil, nil},
		{"ended before anybody asked", func(d *deadline, _ context.CancelCauseFunc) { d.end() }, context.Canceled, context.Canceled},
		{"ended after somebody asked", func(d *deadline, _ context.CancelCauseFunc) { d.Done(); d.end() }, context.Canceled, context.Canceled},
		{"over time, nobody asked", func(*deadline, context.CancelCauseFunc) { time.Sleep(2 * time.Second) }, context.DeadlineExceeded, context.DeadlineExceeded},
		{"over time, somebody asked", func(d *deadline, _ context.CancelCauseFunc) { <-d.Done() }, context.DeadlineExceeded, context.DeadlineExceeded},
		{"the parent ended", func(_ *deadline, parent context.CancelCauseFunc) { parent(reason) }, context.Canceled, reason},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				parent, cancel := context.WithCancelCause(context.WithValue(t.Context(), name{}, "lane"))
				defer cancel(nil)
				d := &deadline{Context: parent, at: time.Now().Add(time.Second)}
				defer d.end()
				at, ok := d.Deadline()
				expect.That(t, ok && at.Equal(d.at), "Deadline = %v, %v, want %v", at, ok, d.at)
				c.do(d, cancel)
				err, cause := d.Err(), context.Cause(d)
				expect.That(t, errors.Is(err, c.err) && errors.Is(cause, c.cause), "Err = %v, cause %v, want %v and %v", err, cause, c.err, c.cause)
				expect.That(t, d.Value(name{}) == "lane", "the parent's values are lost")
			})
		})
	}
}

func TestDeadline_children_end_with_it(t *testing.T) {
	t.Parallel()
	d := &deadline{Context: t.Context(), at: time.Now().Add(time.Hour)}
	child, cancel := context.WithTimeout(d, 2*time.Hour)
	defer cancel()
	at, _ := child.Deadline()
	expect.That(t, at.Equal(d.at), "the child's deadline is %v, want the parent's %v", at, d.at)
	d.end()
	<-child.Done()
	late := &deadline{Context: child, at: time.Now().Add(3 * time.Hour)}
	at, _ = late.Deadline()
	expect.That(t, at.Equal(d.at), "deadline %v, want that of the parent, which comes before: %v", at, d.at)
}
