package retrytopics

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

func TestPaceFollowsTheLastTransaction(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		n    int
		took time.Duration
		want int
	}{
		{4000, 2 * paceTarget, 2000},
		{4000, paceTarget / 2, 8000},
		{4000, time.Hour, minPace}, // a broker that stood still does not make the next ones tiny
		{3, 20 * time.Millisecond, minPace},
		{0, 0, minPace},
		{5000, 0, 5000 * int(paceTarget/time.Millisecond)},
	} {
		expect.Equal(t, pace(c.n, c.took), c.want, "pace", c.n, c.took)
	}
}

// Workers that run far ahead of the commits take the processors from them. What is due is started all the same.
func TestSchedulerWaitsForTheTransactionBeforeMoreOfTheSourceIsStarted(t *testing.T) {
	t.Parallel()
	for name, goOn := range map[string]func(*scheduler, *partition){
		"a transaction takes them": func(s *scheduler, _ *partition) { s.harvest() },
		"a faster pace":            func(s *scheduler, _ *partition) { s.pace(3) },
		"their lane is gone":       func(s *scheduler, finished *partition) { s.drop([]*partition{finished}) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				told := 0
				s := newScheduler(time.Hour, 1000, 64<<20, func() { told++ })
				defer s.close()
				s.pace(2)
				finished, source, tier := partitionAt(t, 0), partitionAt(t, 0), partitionAt(t, 0)
				tier.tier = 0
				s.add(given([]*task{taskAt(finished, 0), taskAt(finished, 1), taskAt(source, 2)}))
				for n := range 2 {
					s.done(s.next())
					synctest.Wait()
					ripe, some := s.pending()
					must.That(t, told == n && ripe == (n == 1) && some, "after %d results the committer was told %d times, ripe %t", n+1, told, ripe)
				}
				var got []*task
				go func() {
					for range 2 {
						got = append(got, s.next())
					}
				}()
				synctest.Wait()
				if len(got) > 0 {
					t.Fatalf("offset %d was started beyond the pace", got[0].raw.Offset)
				}
				due := taskAt(tier, 3)
				s.add(given([]*task{due}))
				synctest.Wait()
				must.That(t, len(got) == 1 && got[0] == due, "started %d tasks, want the one that is due", len(got))
				goOn(s, finished)
				synctest.Wait()
				must.That(t, len(got) == 2 && got[1].raw.Offset == 2, "started %d tasks, want the source to go on", len(got))
			})
		})
	}
}
