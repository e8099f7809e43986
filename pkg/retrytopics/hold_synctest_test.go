package retrytopics

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// Ten minutes of outage on a virtual clock: one probe a cooldown, everything else waits in its order.
func TestScheduler_tenMinutesOfOutageProbeOnceACooldown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := scheduling(t)
		l := partitionAt(t, 0)
		var tasks []*task
		for o := range int64(50) {
			tasks = append(tasks, taskAt(l, o))
		}
		s.add(given(tasks))
		const cooldown = 30 * time.Second
		begin := time.Now()
		for range 50 {
			s.hold(s.next(), &UnavailableError{Dependency: "places", RetryAt: begin.Add(cooldown)})
		}
		probes := 0
		for time.Since(begin) < 10*time.Minute {
			s.hold(s.next(), &UnavailableError{Dependency: "places", RetryAt: time.Now().Add(cooldown)})
			probes++
		}
		expect.That(t, probes == 20, "%d probes in ten minutes with a cooldown of 30 s, want 20", probes)
		s.done(s.next()) // this one gets through
		for range 49 {
			s.done(s.next())
		}
		got := s.harvest()
		expect.That(t, len(got) == 50 && len(s.holds) == 0, "%d of 50 finished, %d dependencies held", len(got), len(s.holds))
	})
}

// An hour of pause on a virtual clock: nothing starts, not even what becomes due or a probe; what was put back runs
// first, and before the later records of its key.
func TestScheduler_S1_8_nothingStartsWhileItStandsStill(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := scheduling(t)
		l := partitionAt(t, 0)
		first, second, other, late := keyed(l, 0, "a"), keyed(l, 1, "a"), keyed(l, 2, "b"), keyed(l, 3, "c")
		late.wake = time.Now().Add(time.Minute)
		s.add(given([]*task{first, second, other, late}))
		running := s.next()
		s.pause(true)
		s.putBack(running)
		began := make(chan *task)
		go func() {
			for t := s.next(); t != nil; t = s.next() {
				began <- t
			}
		}()
		time.Sleep(time.Hour)
		synctest.Wait()
		select {
		case t1 := <-began:
			t.Fatalf("%s began", t1.raw.Key)
		default:
		}
		s.pause(false)
		for i, want := range []*task{first, other, late, second} {
			got := <-began
			expect.That(t, got == want, "task %d is the one at offset %d, want %d", i, got.raw.Offset, want.raw.Offset)
			s.done(got)
		}
		expect.That(t, len(s.harvest()) == 4, "not all finished")
	})
}

// When the record that probes a dependency goes to another instance, another one probes: nothing else would wake what is held.
func TestScheduler_aProbeThatIsTakenAwayIsFollowedByAnother(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := scheduling(t)
		gone, stays := partitionAt(t, 0), partitionAt(t, 0)
		s.add(given([]*task{taskAt(gone, 0), taskAt(stays, 0)}))
		for range 2 {
			s.hold(s.next(), &UnavailableError{Dependency: "places", RetryAt: time.Now().Add(time.Second)})
		}
		probe := s.next()
		must.That(t, probe.from == gone, "the other lane probes first")
		s.drop([]*partition{gone})
		s.done(probe)
		time.Sleep(time.Minute) // virtual
		synctest.Wait()
		s.mu.Lock()
		defer s.mu.Unlock()
		expect.That(t, s.runnable.len() == 1, "nothing probes")
	})
}
