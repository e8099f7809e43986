package integration

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/conservation"
	"github.com/switchback-geo/switchback/internal/testkit/misbehave"
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

// S3-1, S0-4: records that wait in a tier that the file does not name any more run at their due time, are shown while they wait, and
// count for a bounded run. The order of their keys is kept.
func TestTiersChanged_S3_1_whatWaitsIsDrained(t *testing.T) {
	testrun.Nightly(t)
	t.Parallel()
	for _, mode := range []string{"none", "latest_wins", "strict"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			wait := 4 * time.Second
			for !whatWaitsIsDrained(t, mode, wait) {
				if wait *= 3; wait > 2*time.Minute {
					t.Fatalf("records that wait for %v were due before the consumer had stopped", wait/3)
				}
			}
		})
	}
}

// whatWaitsIsDrained is false, and proves nothing, when no record waits any more once the consumer has stopped: the wait is too short
// for this machine.
func whatWaitsIsDrained(t *testing.T, mode string, wait time.Duration) bool {
	t.Helper()
	p := newPipe(t, 2*time.Minute+4*wait, tiers(time.Second, wait, 2*wait+time.Second), func(s *settings) { s.Ordering = mode }).ensure()
	const n = 60
	all := ids("w", n)
	p.failing(2, all...)
	waiting := p.log.Tail(t, p.tier(wait))
	old := p.start("it")
	p.send(all...)
	waiting.UntilCount(p.ctx, t, "all in the second tier", n)
	p.stop(old)
	done := len(p.read(p.topics.Output)) // were due before it had stopped
	left := n - done
	if left == 0 {
		return false
	}
	p.retier(time.Second, wait+time.Second)

	former := p.tier(wait)
	for _, args := range [][]string{{"topics", "check"}, {"describe", "--live"}, {"status"}} {
		r := p.run("consumer", append(args, "-c", p.file)...)
		if said := r.Stdout; r.Code != 0 || waitingIn(said, former) < left {
			t.Errorf("%v does not say that %d records wait in %s: %s", args, left, former, r)
		}
	}
	var later []*kgo.Record
	for _, id := range all { // behind what waits
		later = append(later, &kgo.Record{Topic: p.topics.Source, Key: []byte(id), Value: []byte(featureAt(id, 4))})
	}
	p.sendRecords(later...)
	s := p.drain()
	if s["status"] != "completed" || s.number(t, "waiting") != 0 {
		t.Errorf("summary: %v", s)
	}
	account := p.verify()
	switch mode {
	case "latest_wins": // how many of those that wait are overtaken depends on how many are due when the consumer starts
		inputs, sum := account.Totals()
		if inputs != 2*n || sum != (conservation.Place{Output: sum.Output, Closed: sum.Closed}) || sum.Output+sum.Closed != 2*n || sum.Closed > left {
			t.Errorf("%d inputs in %+v, want %d, delivered or closed, at most %d closed", inputs, sum, 2*n, left)
		}
		for key, records := range byKey(p.read(p.topics.Output)) {
			if last := levelOf(t, records[len(records)-1]); last != 4 {
				t.Errorf("%s ends with level %d: an older event took effect after a newer one", key, last)
			}
		}
	case "strict":
		wantTotals(t, account, 2*n, conservation.Place{Output: 2 * n})
		p.wantSequence(t, all, 3, 4)
	default:
		wantTotals(t, account, 2*n, conservation.Place{Output: 2 * n})
	}
	if r := p.run("consumer", "topics", "ensure", "-c", p.file); r.Code != 0 || !strings.Contains(r.Stdout, former+" (former tier): empty; it can be deleted") {
		t.Errorf("ensure does not say that %s is empty: %s", former, r)
	}
	return true
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
	if err := p.log.Delete(p.ctx, former); err != nil {
		t.Fatal(err)
	}
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

// waitingIn reads the number that a line says of a topic: records that wait, and transaction markers.
func waitingIn(said, topic string) (n int) {
	for line := range strings.Lines(said) {
		if rest, ok := strings.CutPrefix(line, topic); ok {
			digits := strings.FieldsFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
			if len(digits) > 0 {
				n, _ = strconv.Atoi(digits[0])
			}
		}
	}
	return n
}

// wantSequence wants the outputs of each id to come in this order of levels.
func (p *pipe) wantSequence(t *testing.T, ids []string, levels ...int) {
	t.Helper()
	got := map[string][]string{}
	for _, r := range p.read(p.topics.Output) {
		got[string(r.Key)] = append(got[string(r.Key)], string(r.Value))
	}
	for _, id := range ids {
		for i, level := range levels {
			if len(got[id]) != len(levels) || !strings.Contains(got[id][i], fmt.Sprintf(`"level":%d`, level)) {
				t.Errorf("outputs of %s: %q, want levels %v", id, got[id], levels)
				break
			}
		}
	}
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
