package integration

import (
	"strings"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/misbehave"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

// S4-8: replays that are deleted from the source before the consumer reads them leave their dead letters replaying for ever. An operator
// gets them out, but not while a replay may still be unread or wait for its retry, and each takes effect once.
func TestReopenLost_S4_8(t *testing.T) {
	testrun.Nightly(t)
	t.Parallel()
	const n = 5
	p := newPipe(t, 2*time.Minute, tiers(2*time.Second)).ensure()
	p.dead(n)
	p.replay("--execute")
	reopen := []string{"reopen", "-c", p.file, "--lost", "--reason", "the source was cleaned up"}
	execute := append(reopen, "--execute")
	p.wants(exitRefused, "a replay may still be among what the consumer has not finished (records not finished, at most: "+p.topics.Source+": ", execute...)
	p.wantStates(n, "replaying")

	p.deleteAll(p.topics.Source)
	p.places.Script("waits", misbehave.Status(503), misbehave.OK())
	p.leaveWaiting("waits")
	p.wants(exitRefused, p.topics.Tiers[0]+": ", reopen...) // not in a dry run either
	p.drain()
	p.wantStates(n, "replaying")

	p.wants(exitRefused, "replayer reopen -c "+p.file+" --lost --execute --reason", reopen...)
	p.wants(0, "", execute...)
	p.wantStates(n, "pending")
	p.replay("--execute")
	p.drain()
	p.wantStates(n, "reprocessed")
	if out := p.read(p.topics.Output); len(out) != n+1 {
		t.Errorf("%d outputs, want one for each of %d dead letters, and the one that waited", len(out), n)
	}
	p.wants(exitNothing, "", execute...)
	if r := p.run("replayer", "audit", "-c", p.file, "--operations"); r.Code != 0 || !strings.Contains(r.Stdout, "the source was cleaned up") {
		t.Errorf("the audit trail: %s", r)
	}
}
