package integration

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/conservation"
	"github.com/switchback-geo/switchback/internal/testkit/eventually"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

// exitStopped is the exit code of a replay that was cancelled.
const exitStopped = 6

// job is what tests read of a job of the replayer.
type job struct {
	ID, State  string
	NotReached int `json:"not_reached"`
}

// latestJob is the job that began last.
func (p *pipe) latestJob() job {
	p.t.Helper()
	var look struct{ Jobs []job }
	r := p.run("replayer", "replays", "-c", p.file, "-o", "json")
	if err := json.Unmarshal([]byte(r.Stdout), &look); err != nil || len(look.Jobs) == 0 {
		p.t.Fatalf("%v: %s", err, r)
	}
	return look.Jobs[0]
}

func (p *pipe) jobIs(state string) {
	p.t.Helper()
	eventually.Until(p.ctx, p.t, "the job is "+state, func() (bool, string) {
		j := p.latestJob()
		return j.State == state, fmt.Sprintf("%+v", j)
	})
}

// S4-6, C-4: a second operator pauses and resumes a replay, and cancels it while it is paused. Nothing is sent meanwhile; the job shows what
// was not sent, and a later replay sends it once.
func TestJob_S4_6_C4_anotherOperatorPausesAndCancels(t *testing.T) {
	testrun.Nightly(t)
	t.Parallel()
	const n = 10
	p := newPipe(t, 2*time.Minute).ensure()
	p.dead(n)
	first := p.canary("ana", n, "--all")
	id := p.latestJob().ID
	for _, order := range []struct{ verb, state string }{{"pause", "paused"}, {"resume", "running"}, {"pause", "paused"}} {
		if r := p.run("replayer", order.verb, "-c", p.file, "--actor", "bo", id); r.Code != 0 {
			t.Fatalf("%s: %s", order.verb, r)
		}
		p.jobIs(order.state)
	}
	p.drain() // the canary is well: a replay that does not pause would send the others
	p.wantStates(2, "reprocessed")
	if r := p.run("replayer", "cancel", "-c", p.file, "--actor", "bo", id); r.Code != 0 {
		t.Fatalf("cancel: %s", r)
	}
	if r := first.Wait(p.ctx, t); r.Code != exitStopped || !strings.Contains(r.Stderr, "STOPPED: bo cancelled it; 8 of 10 dead letters were not reached") || !strings.Contains(r.Stderr, "To go on with what is left:\n  replayer replay ") {
		t.Errorf("the first operator: %s", r)
	}
	if j := p.latestJob(); j != (job{ID: id, State: "cancelled", NotReached: 8}) {
		t.Errorf("%+v", j)
	}
	p.replay("--execute")
	p.drain().balances(t)
	wantTotals(t, p.verify(), n, conservation.Place{Letters: n, Replays: n, Output: n})
}
