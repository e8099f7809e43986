package integration

import (
	"strings"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/conservation"
	"github.com/switchback-geo/switchback/internal/testkit/proc"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

// canary starts a replay that waits for the consumer's verdict on its first two dead letters, and waits until these are sent.
func (p *pipe) canary(by string, before int, which ...string) *proc.Process {
	p.t.Helper()
	source := p.log.Tail(p.t, p.topics.Source)
	first := proc.Start(p.t, p.spec("replayer", append([]string{"replay", "-c", p.file, "--canary", "2", "--execute", "--reason", "AREA mapped", "--actor", by}, which...)...))
	source.UntilCount(p.ctx, p.t, "the canary", before+2)
	return first
}

// C-4: a second operator is told who is at work, since when and what for, and changes nothing. On purpose he takes over, and the first
// one is told by whom.
func TestLease_C4_aSecondOperator(t *testing.T) {
	testrun.Nightly(t)
	t.Parallel()
	const n = 10
	p := newPipe(t, 2*time.Minute).ensure()
	p.dead(n)
	first := p.canary("ana", n, "--all")
	discard := []string{"discard", "-c", p.file, "--limit", "1", "--execute", "--reason", "not wanted", "--actor", "bo"}
	r := p.run("replayer", discard...)
	if r.Code != exitRefused || r.Stdout != "" {
		t.Errorf("a second operator: %s", r)
	}
	for _, says := range []string{"another replayer is at work", "ana on ", ", since 20", "(replay: AREA mapped)", "--wait-for-lease", "--take-over", "nothing was changed"} {
		if !strings.Contains(r.Stderr, says) {
			t.Errorf("a second operator is not told %q: %s", says, r.Stderr)
		}
	}
	p.wantStates(2, "replaying")
	if r := p.run("replayer", append(discard, "--take-over")...); r.Code != 0 {
		t.Fatalf("taking over: %s", r)
	}
	p.drain() // the canary is well: the first one goes on, and finds that it is not the one any more
	if r := first.Wait(p.ctx, t); r.Code != exitPartly || !strings.Contains(r.Stderr, "bo on ") || !strings.Contains(r.Stderr, "(discard: not wanted)") {
		t.Errorf("the first operator: %s", r)
	}
	p.replay("--execute")
	p.drain().balances(t)
	wantTotals(t, p.verify(), n, conservation.Place{Letters: n, Replays: n - 1, Output: n - 1})
}

// C-4: a replayer that is killed leaves its lease behind. The next one sees that it gives no sign of life, and goes on by itself.
func TestLease_C4_ofAKilledReplayerIsNobodys(t *testing.T) {
	testrun.Fast(t)
	t.Parallel()
	const n = 10
	p := newPipe(t, 2*time.Minute).ensure()
	p.dead(n)
	if !p.canary("ana", n, "--all").Kill() {
		t.Fatal("the replayer had ended before it was killed")
	}
	p.replay("--execute")
	p.drain().balances(t)
	wantTotals(t, p.verify(), n, conservation.Place{Letters: n, Replays: n, Output: n})
	p.wantStates(n, "reprocessed")
}
