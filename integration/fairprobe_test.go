package integration

import (
	"fmt"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/conservation"
	"github.com/switchback-geo/switchback/internal/testkit/misbehave"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

// S4-5: records that a service always answers with 503 keep its breaker open and wait. A healthy record that comes after them is
// asked for within a few cooldowns, not behind all of them; and once healthy ones get through, the bad ones use up their attempts and die.
func TestBadRecords_S4_5_behindABreakerDelayNobodyAndDie(t *testing.T) {
	testrun.Nightly(t)
	t.Parallel()
	const failures, cooldown, bad = 2, 500 * time.Millisecond, 20
	p := newPipe(t, 3*time.Minute, func(s *settings) { s.MaxAttempts = 2 }).breakered(failures, cooldown).ensure()
	sick := ids("bad", bad)
	for _, id := range sick {
		p.places.Script(id, misbehave.Times(1000, misbehave.Status(503))...)
	}
	output, dead := p.log.Tail(t, p.topics.Output), p.log.Tail(t, p.topics.DLQ)
	consumer := p.start("it")
	p.send(sick...)
	p.places.UntilArrivals(p.ctx, t, sick[0], 1)
	good := 0
	deliver := func() time.Duration {
		t.Helper()
		id := fmt.Sprintf("good-%d", good)
		good++
		sent := time.Now()
		p.send(id)
		output.UntilCount(p.ctx, t, "the result of "+id, good)
		return time.Since(sent)
	}
	longest, between := deliver(), 0
	for len(dead.Seen()) < bad {
		between++ // the record before this one was delivered while bad ones waited
		longest = max(longest, deliver())
	}
	t.Logf("%d healthy records were delivered, the slowest within %v, until %d bad ones were dead", good, longest.Round(time.Millisecond), bad)
	if between < 2 {
		t.Errorf("%d healthy records were delivered while bad ones waited, want at least 2", between)
	}
	p.stop(consumer)
	wantTotals(t, p.verify(), bad+good, conservation.Place{Output: good, Letters: bad})
}
