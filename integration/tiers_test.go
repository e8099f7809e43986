package integration

import (
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/conservation"
	"github.com/switchback-geo/switchback/internal/testkit/misbehave"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

// retier gives the pipeline another tier list, as an operator does who edits the file. What is verified later includes every
// tier that there was.
func (p *pipe) retier(delays ...time.Duration) {
	p.t.Helper()
	p.set.Tiers = delays
	for _, d := range delays {
		if topic := p.topics.Source + ".retry-" + d.String(); !slices.Contains(p.topics.Tiers, topic) {
			p.topics.Tiers = append(p.topics.Tiers, topic)
		}
	}
	p.write()
	if r := p.run("consumer", "topics", "ensure", "-c", p.file); r.Code != 0 {
		p.t.Fatalf("consumer topics ensure: %s", r)
	}
}

// tier gives the name of a tier's topic.
func (p *pipe) tier(delay time.Duration) string { return p.topics.Source + ".retry-" + delay.String() }

// failing lets the service answer 503 the first n times for each id.
func (p *pipe) failing(n int, ids ...string) {
	for _, id := range ids {
		p.places.Script(id, slices.Repeat([]misbehave.Answer{misbehave.Status(503)}, n)...)
	}
}

// S3-1: an operator deletes an empty former tier while consumers run: nothing stops, and a bounded run ends.
func TestTiersChanged_S3_1_anEmptyFormerTierIsDeleted(t *testing.T) {
	testrun.Fast(t)
	t.Parallel()
	p := newPipe(t, 2*time.Minute, tiers(200*time.Millisecond, 700*time.Millisecond)).ensure()
	former := p.tier(700 * time.Millisecond)
	p.send(ids("z", 5)...)
	p.drain().balances(t)
	p.retier(200 * time.Millisecond)
	running := p.start("it")
	output := p.log.Tail(t, p.topics.Output)
	p.send(ids("a", 20)...)
	output.UntilCount(p.ctx, t, "delivered before", 25)
	must.Do(t, p.log.Delete(p.ctx, former))
	b := ids("b", 20)
	p.failing(1, b...)
	p.send(b...)
	output.UntilCount(p.ctx, t, "delivered after", 45)
	p.stop(running)
	p.send(ids("c", 5)...)
	p.topics.Tiers = p.topics.Tiers[:1]
	p.drain().balances(t)
	wantTotals(t, p.verify(), 50, conservation.Place{Output: 50})
}

// S3-1, S0-4: a rolling deploy that changes the tiers: while instances with the old and the new list share the group, each drains
// what the other wrote; nothing is stranded, doubled or tried early.
func TestTiersChanged_S0_4_rollingDeploy(t *testing.T) {
	testrun.Proof(t)
	t.Parallel()
	for _, c := range []struct{ mode, stop string }{{"latest_wins", "term"}, {"strict", "term"}, {"latest_wins", "kill"}, {"strict", "static"}} {
		t.Run(c.mode+"_"+c.stop, func(t *testing.T) {
			if c.mode != "latest_wins" || c.stop != "kill" {
				testrun.Nightly(t)
			}
			t.Parallel()
			p := newPipe(t, 3*time.Minute, tiers(time.Second, 4*time.Second, 9*time.Second), killed, func(s *settings) {
				s.Ordering, s.Partitions, s.Static = c.mode, 6, c.stop == "static"
			}).ensure()
			const n = 600
			all := ids("r", n)
			for i, id := range all {
				p.failing(i%4, id)
			}
			one, two := p.start("one"), p.start("two")
			p.members(2)
			for part := range slices.Chunk(all[:n/2], 50) {
				p.send(part...)
			}
			p.retier(time.Second, 5*time.Second)
			signal := syscall.SIGTERM
			if c.stop == "kill" {
				signal = syscall.SIGKILL
			}
			one.Signal(t, signal)
			one.Wait(p.ctx, t)
			one = p.start("one")
			p.send(all[n/2 : 3*n/4]...)
			p.members(2)
			two.Signal(t, signal)
			two.Wait(p.ctx, t)
			two = p.start("two")
			p.send(all[3*n/4:]...)
			output := p.log.Tail(t, p.topics.Output)
			output.UntilCount(p.ctx, t, "every event delivered", n)
			p.stop(one)
			p.stop(two)
			wantTotals(t, p.verify(), n, conservation.Place{Output: n})
		})
	}
}
