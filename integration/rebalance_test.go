package integration

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/conservation"
	"github.com/switchback-geo/switchback/internal/testkit/eventually"
	"github.com/switchback-geo/switchback/internal/testkit/misbehave"
	"github.com/switchback-geo/switchback/internal/testkit/proc"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

// members waits until the group is stable with n members, each with partitions,
// or has no member any more when n is 0.
func (p *pipe) members(n int) {
	p.t.Helper()
	eventually.Until(p.ctx, p.t, fmt.Sprintf("a stable group of %d members", n), func() (bool, string) {
		groups, err := p.log.Admin().DescribeGroups(p.ctx, p.topics.Group)
		if err != nil {
			return false, err.Error()
		}
		group := groups[p.topics.Group]
		working := 0
		for _, m := range group.Members {
			if assigned, ok := m.Assigned.AsConsumer(); ok && len(assigned.Topics) > 0 {
				working++
			}
		}
		if n == 0 {
			return len(group.Members) == 0, fmt.Sprintf("%d members", len(group.Members))
		}
		return group.State == "Stable" && len(group.Members) == n && working == n,
			fmt.Sprintf("%s with %d members, %d of them with partitions, error %v", group.State, len(group.Members), working, group.Err)
	})
}

// stop ends a consumer as an operator does, and wants it to end well.
func (p *pipe) stop(consumer *proc.Process) proc.Result {
	p.t.Helper()
	consumer.Signal(p.t, syscall.SIGTERM)
	r := consumer.Wait(p.ctx, p.t)
	if r.Code != 0 {
		p.t.Errorf("after SIGTERM: %s", r)
	}
	return r
}

// S0-4, S3-1: a second consumer joins and leaves while records wait in a tier:
// each is tried once more, not early, not stuck, and delivered once.
func TestRebalanceWhileWaiting_S0_4(t *testing.T) {
	testrun.Proof(t)
	t.Parallel()
	wait := 8 * time.Second
	for !rebalanceWhileWaiting(t, wait) {
		if wait *= 3; wait > 2*time.Minute {
			t.Fatalf("records that wait for %v were due before the group was done", wait/3)
		}
	}
}

// rebalanceWhileWaiting is false, and proves nothing, when all records were delivered before the group was done: the wait is too
// short for this machine.
func rebalanceWhileWaiting(t *testing.T, wait time.Duration) bool {
	t.Helper()
	p := newPipe(t, 2*time.Minute, tiers(wait), func(s *settings) { s.Partitions = 6 }).ensure()
	const n = 120
	all := ids("r", n)
	for _, id := range all {
		p.places.Script(id, misbehave.Status(503))
	}
	waiting, output := p.log.Tail(t, p.topics.Tiers...), p.log.Tail(t, p.topics.Output)
	first := p.start("first")
	p.send(all...)
	seen := waiting.UntilCount(p.ctx, t, "every record in the tier", n)
	second := p.start("second")
	p.members(2)
	third := p.start("third")
	p.members(3)
	p.stop(second)
	p.members(2)
	early := len(output.Seen())
	output.UntilCount(p.ctx, t, "every record delivered", n)
	p.stop(first)
	p.stop(third)

	wantTotals(t, p.verify(seen...), n, conservation.Place{Output: n})
	if held := p.neverEarly(waiting.Seen()); held != n {
		t.Errorf("%d tier records, want %d: a rebalance must not send a record round again", held, n)
	}
	return early < n
}
