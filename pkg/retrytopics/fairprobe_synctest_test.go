package retrytopics

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

var errUnavailable = errors.New("503")

// S4-5: of forty records that fail always and a good one, wherever it stands among them, the good one is asked for within two
// cooldowns for each good one before it. Those that are bad count their failures once others get through.
func TestProbe_S4_5_badRecordsDoNotDelayAGoodOne(t *testing.T) {
	t.Parallel()
	const cooldown, bad = 30 * time.Second, 40
	for name, index := range map[string]int64{"first": 0, "last": bad} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := scheduling(t)
				l := partitionAt(t, 0)
				var tasks []*task
				for o := range int64(bad + 1) {
					tasks = append(tasks, taskAt(l, o))
				}
				s.add(given(tasks))
				begin := time.Now()
				for range bad + 1 {
					s.hold(s.next(), &UnavailableError{Dependency: "places", RetryAt: begin.Add(cooldown)})
				}
				for {
					asked := s.next()
					failure := &UnavailableError{Dependency: "places", RetryAt: time.Now().Add(cooldown), Asked: true, Err: errUnavailable}
					must.That(t, !s.counts(asked, failure), "the failure of record %d counts, though nobody got through", asked.offset)
					if asked.offset == index {
						s.done(asked)
						break
					}
					s.hold(asked, failure)
				}
				took := time.Since(begin)
				expect.That(t, took <= 2*cooldown, "the good record was asked for after %v", took)
				for range bad {
					asked := s.next()
					failure := &UnavailableError{Dependency: "places", RetryAt: time.Now().Add(cooldown), Asked: true, Err: errUnavailable}
					must.That(t, s.counts(asked, failure), "record %d failed while another one got through, and it does not count", asked.offset)
					asked.down = failure
					s.done(asked)
				}
				expect.Equal(t, len(s.harvest()), bad+1, "of")
			})
		})
	}
}

// A probe whose failure counts sets nobody free: the dependency is as closed as before.
func TestProbe_S4_5_aFailureThatCountsSetsNobodyFree(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := scheduling(t)
		l := partitionAt(t, 0)
		s.add(given([]*task{taskAt(l, 0), taskAt(l, 1), taskAt(l, 2)}))
		held := func() *UnavailableError {
			return &UnavailableError{Dependency: "places", RetryAt: time.Now().Add(time.Minute), Asked: true, Err: errUnavailable}
		}
		for range 3 {
			s.hold(s.next(), held())
		}
		probe := s.next()
		probe.down = held()
		began := time.Now()
		s.done(probe)
		next := s.next()
		took := time.Since(began)
		expect.That(t, took == time.Minute && next != probe, "the next one was asked for after %v", took)
		s.done(next)
		s.done(s.next())
	})
}
