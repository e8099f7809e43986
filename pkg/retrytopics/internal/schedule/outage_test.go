package schedule

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// Ten minutes of outage in virtual time: there is one probe per cooldown, and all other records wait in their order.
func TestScheduler_tenMinutesOfOutageProbeOnceACooldown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := scheduling(t, roomy())
		l := partitionOf(t, Source)
		var tasks []*Task
		for o := range int64(50) {
			tasks = append(tasks, taskAt(l, o))
		}
		s.Add(given(tasks...))
		const cooldown = 30 * time.Second
		begin := time.Now()
		for range 50 {
			s.Defer(s.Next(), Outage{Dependency: "places", RetryAt: begin.Add(cooldown)})
		}
		probes := 0
		for time.Since(begin) < 10*time.Minute {
			s.Defer(s.Next(), Outage{Dependency: "places", RetryAt: time.Now().Add(cooldown)})
			probes++
		}
		expect.That(t, probes == 20, "%d probes in ten minutes with a cooldown of 30 s, want 20", probes)
		s.Finish(s.Next()) // this one gets through
		for range 49 {
			s.Finish(s.Next())
		}
		got := s.Harvest()
		expect.That(t, len(got) == 50 && len(s.deferrals) == 0, "%d of 50 finished, %d dependencies down", len(got), len(s.deferrals))
	})
}

// An hour of pause in virtual time: nothing starts, neither due records nor a probe. Records that were put back run
// first, before later records of their key.
func TestScheduler_S1_8_nothingStartsWhileItStandsStill(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := scheduling(t, roomy())
		l := partitionOf(t, Source)
		first, second, other, late := keyed(l, 0, "a"), keyed(l, 1, "a"), keyed(l, 2, "b"), keyed(l, 3, "c")
		late.Wake = time.Now().Add(time.Minute)
		s.Add(given(first, second, other, late))
		running := s.Next()
		s.Pause(true)
		s.PutBack(running)
		began := make(chan *Task)
		go func() {
			for t := s.Next(); t != nil; t = s.Next() {
				began <- t
			}
		}()
		time.Sleep(time.Hour)
		synctest.Wait()
		select {
		case t1 := <-began:
			t.Fatalf("offset %d began", t1.Offset)
		default:
		}
		s.Pause(false)
		for i, want := range []*Task{first, other, late, second} {
			got := <-began
			expect.That(t, got == want, "task %d is the one at offset %d, want %d", i, got.Offset, want.Offset)
			s.Finish(got)
		}
		expect.That(t, len(s.Harvest()) == 4, "not all finished")
	})
}

// If the record that probes a dependency moves to another instance, another record probes. Otherwise nothing would wake
// the deferred records.
func TestScheduler_aProbeThatIsTakenAwayIsFollowedByAnother(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := scheduling(t, roomy())
		gone, stays := partitionOf(t, Source), partitionOf(t, Source)
		s.Add(given(taskAt(gone, 0), taskAt(stays, 0)))
		for range 2 {
			s.Defer(s.Next(), Outage{Dependency: "places", RetryAt: time.Now().Add(time.Second)})
		}
		probe := s.Next()
		must.That(t, probe.Partition == gone, "the other partition probes first")
		s.Drop([]*Partition{gone})
		s.Finish(probe)
		time.Sleep(time.Minute) // virtual
		synctest.Wait()
		s.mu.Lock()
		defer s.mu.Unlock()
		expect.That(t, s.source.len() == 1, "nothing probes")
	})
}

// S4-5: among forty records that always fail, wherever the good one is, the good one is attempted within two
// cooldowns for each good one before it. The failures of bad records count once others succeeded.
func TestProbe_S4_5_badRecordsDoNotDelayAGoodOne(t *testing.T) {
	t.Parallel()
	const cooldown, bad = 30 * time.Second, 40
	for name, index := range map[string]int64{"first": 0, "last": bad} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := scheduling(t, roomy())
				l := partitionOf(t, Source)
				var tasks []*Task
				for o := range int64(bad + 1) {
					tasks = append(tasks, taskAt(l, o))
				}
				s.Add(given(tasks...))
				begin := time.Now()
				for range bad + 1 {
					s.Defer(s.Next(), Outage{Dependency: "places", RetryAt: begin.Add(cooldown)})
				}
				for {
					asked := s.Next()
					failure := Outage{Dependency: "places", RetryAt: time.Now().Add(cooldown), Asked: true}
					must.That(t, !s.Counts(asked, failure), "the failure of record %d counts, though no other record succeeded", asked.Offset)
					if asked.Offset == index {
						s.Finish(asked)
						break
					}
					s.Defer(asked, failure)
				}
				took := time.Since(begin)
				expect.That(t, took <= 2*cooldown, "the good record was attempted after %v", took)
				for range bad {
					asked := s.Next()
					failure := Outage{Dependency: "places", RetryAt: time.Now().Add(cooldown), Asked: true}
					must.That(t, s.Counts(asked, failure), "record %d failed while another one succeeded, and it does not count", asked.Offset)
					asked.Down = &failure
					s.Finish(asked)
				}
				expect.Equal(t, len(s.Harvest()), bad+1, "of")
			})
		})
	}
}

// A probe whose failure counts releases no record: the dependency is as unavailable as before.
func TestProbe_S4_5_aFailureThatCountsSetsNobodyFree(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := scheduling(t, roomy())
		l := partitionOf(t, Source)
		s.Add(given(taskAt(l, 0), taskAt(l, 1), taskAt(l, 2)))
		deferred := func() Outage {
			return Outage{Dependency: "places", RetryAt: time.Now().Add(time.Minute), Asked: true}
		}
		for range 3 {
			s.Defer(s.Next(), deferred())
		}
		probe := s.Next()
		met := deferred()
		probe.Down = &met
		began := time.Now()
		s.Finish(probe)
		next := s.Next()
		took := time.Since(began)
		expect.That(t, took == time.Minute && next != probe, "the next one was attempted after %v", took)
		s.Finish(next)
		s.Finish(s.Next())
	})
}

func TestPaceFollowsTheLastTransaction(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		n    int
		took time.Duration
		want int
	}{
		{4000, 2 * paceTarget, 2000},
		{4000, paceTarget / 2, 8000},
		{4000, time.Hour, minPace}, // a slow broker does not make the next transactions tiny
		{3, 20 * time.Millisecond, minPace},
		{0, 0, minPace},
		{5000, 0, 5000 * int(paceTarget/time.Millisecond)},
	} {
		expect.Equal(t, pace(c.n, c.took), c.want, "pace", c.n, c.took)
	}
}

// Workers that are far ahead of the commits leave too little processor time for them. Due records start anyway.
func TestSchedulerWaitsForTheTransactionBeforeMoreOfTheSourceIsStarted(t *testing.T) {
	t.Parallel()
	for name, goOn := range map[string]func(*Scheduler, *Partition){
		"a transaction takes them":   func(s *Scheduler, _ *Partition) { s.Harvest() },
		"a faster pace":              func(s *Scheduler, _ *Partition) { s.Pace(minPace, paceTarget) },
		"their partition is revoked": func(s *Scheduler, finished *Partition) { s.Drop([]*Partition{finished}) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				told := 0
				c := roomy()
				c.Linger, c.Ripe = time.Hour, func() { told++ }
				s := scheduling(t, c)
				s.most = 2
				finished, source, tier := partitionOf(t, Source), partitionOf(t, Source), partitionOf(t, Source)
				tier.Tier = 0
				s.Add(given(taskAt(finished, 0), taskAt(finished, 1), taskAt(source, 2)))
				for n := range 2 {
					s.Finish(s.Next())
					synctest.Wait()
					ripe, some := s.Pending()
					must.That(t, told == n && ripe == (n == 1) && some, "after %d results the committer was notified %d times, ripe %t", n+1, told, ripe)
				}
				var got []*Task
				go func() {
					for range 2 {
						got = append(got, s.Next())
					}
				}()
				synctest.Wait()
				must.That(t, len(got) == 0, "offset %v was started beyond the pace", got)
				due := taskAt(tier, 3)
				s.Add(given(due))
				synctest.Wait()
				must.That(t, len(got) == 1 && got[0] == due, "started %d tasks, want the one that is due", len(got))
				goOn(s, finished)
				synctest.Wait()
				must.That(t, len(got) == 2 && got[1].Offset == 2, "started %d tasks, want the source to continue", len(got))
			})
		})
	}
}
