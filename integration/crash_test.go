package integration

import (
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/broker"
	"github.com/switchback-geo/switchback/internal/testkit/conservation"
	"github.com/switchback-geo/switchback/internal/testkit/eventually"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/misbehave"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/proc"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/internal/testkit/topiclog"
)

// needRealKafka skips a test that is only meaningful on a real broker. If the environment demands a real broker and none
// is available, the test fails instead.
func needRealKafka(t *testing.T) {
	t.Helper()
	switch kafka := sharedEnvironment(t).kafka; {
	case kafka.Real() && broker.Forced():
	case kafka.Real():
		t.Skipf("takes minutes of kills and expiries: %s=kafka runs it", broker.EnvForce)
	case broker.Forced():
		t.Fatalf("%s=kafka, but the broker is %s", broker.EnvForce, kafka)
	default:
		t.Skipf("needs a real broker: kfake ends transactions at once and fences no producer, so a SIGKILL proves nothing there (%s=kafka runs it)", broker.EnvForce)
	}
}

// S3-1, S4-14, C-1: consumers that are killed repeatedly while records are in flight lose no record, and a
// read_committed reader sees no duplicate.
func TestKilledConsumers_S3_1_S4_14(t *testing.T) {
	parallel(t, testrun.Proof, needRealKafka)
	p := newPipe(t, 4*time.Minute, shortSession, func(s *settings) { s.Partitions = 6 }).ensure()
	const n, kills = 6000, 5
	all := ids("k", n)
	for i, id := range all {
		switch {
		case i%10 == 0: // transient, once to three times
			p.places.Script(id, misbehave.Times(1+i/10%3, misbehave.Status(503))...)
		case i%100 == 1: // permanent
			p.places.Script(id, misbehave.Times(1000, misbehave.Status(404))...)
		}
	}
	tiers, output := p.log.Tail(t, p.topics.Tiers...), p.log.Tail(t, p.topics.Output)
	p.send(all...)
	p.killWhileProducing(output, kills, n/(kills+2), n/(4*kills))
	p.drain()
	wantTotals(t, p.verify(tiers.Seen()...), n, conservation.Place{Output: n - n/100, DeadLetters: n / 100})
	// The number of tier records depends on the kills: an attempt that dies with its consumer has used up an answer of
	// the service.
	held := p.wantNoneEarly(tiers.Seen())
	expect.That(t, held >= n/100, "only %d tier records were checked", held)
}

// killWhileProducing starts consumers one after the other, and kills each one after it has produced this many output
// records. The service answers at most budget requests of each consumer, so records are in flight at the kill on the
// fastest machine too.
func (p *pipe) killWhileProducing(output *topiclog.Tail, kills, budget, effects int) {
	p.t.Helper()
	for kill := range kills {
		p.places.Budget(budget)
		consumer := p.start("it")
		mark := len(output.Seen()) + effects
		output.Until(p.ctx, p.t, fmt.Sprintf("progress before kill %d", kill+1), func(seen []*kgo.Record) bool {
			select {
			case <-consumer.Done():
				p.t.Fatalf("the consumer exited on its own before kill %d", kill+1)
			default:
			}
			return len(seen) >= mark
		})
		must.That(p.t, consumer.Kill(), "kill %d hit a consumer that had already exited", kill+1)
	}
	p.places.Budget(-1)
}

// S3-1: brokers that restart one after the other, as in an upgrade, do not make a consumer wait for its session to time
// out. Each node leads some partitions and coordinates some group or transaction.
func TestRollingRestart_S3_1_interruptsForNoSession(t *testing.T) {
	parallel(t, testrun.Nightly, needRealKafka)
	ctx := testrun.Context(t, 5*time.Minute)
	nodes := must.Get(broker.OwnCluster(ctx, 3))(t)
	t.Cleanup(func() { expect.Do(t, nodes.Close()) })
	p := newPipeOn(t, nodes.Addrs(), 5*time.Minute, heldSession, func(s *settings) { s.Replicas = 3 }).ensure()
	output := p.log.Tail(t, p.topics.Output)
	first, second := p.start("one"), p.start("two")
	sent := 0
	deliver := func(since string) {
		t.Helper()
		for range 12 { // reaches all partitions
			sent++
			p.send(fmt.Sprintf("k%d", sent))
		}
		output.UntilCount(p.ctx, t, "the results after "+since, sent)
	}
	deliver("the start")
	for i, node := range nodes.Nodes {
		must.Do(t, node.Stop(p.ctx))
		deliver(fmt.Sprintf("the stop of node %d", i+1))
		must.Do(t, node.Start(p.ctx))
		deliver(fmt.Sprintf("the return of node %d", i+1))
		must.Do(t, nodes.Whole(p.ctx))
	}
	p.stop(first)
	p.stop(second)
	wantTotals(t, p.verify(), sent, conservation.Place{Output: sent})
}

// heldSession sets the longest session timeout. It exceeds the time limit of a test, so a consumer that waits for a
// session to time out never continues.
func heldSession(s *settings) { s.Session = "30m" }

// ownKafka starts a broker that the test may kill and freeze.
func ownKafka(t *testing.T) *broker.Owned {
	t.Helper()
	needRealKafka(t)
	ctx := testrun.Context(t, 5*time.Minute)
	kafka := must.Get(broker.Own(ctx, broker.OwnOptions{}))(t)
	t.Cleanup(func() { expect.Do(t, kafka.Close(false)) })
	return kafka
}

// S4-12: a consumer whose brokers hang becomes unready. After SIGTERM it waits for them until engine.shutdown_timeout,
// and exits while they still hang.
func TestBrokerHangs_S4_12_unreadyAndEndsInTime(t *testing.T) {
	parallel(t, testrun.Nightly)
	kafka := ownKafka(t)
	p := newPipeOn(t, []string{kafka.Addr}, 3*time.Minute, func(s *settings) { s.Metrics, s.Session = "127.0.0.1:0", "6s" }).ensure()
	output := p.log.Tail(t, p.topics.Output)
	spec := p.spec("consumer", "run", "-c", p.file)
	spec.Env = append(spec.Env, "SWITCHBACK_ENGINE_INSTANCE=it", "SWITCHBACK_ENGINE_SHUTDOWN_TIMEOUT=4s")
	consumer := proc.Start(t, spec)
	address := p.metricsAddress(consumer)
	p.send("a")
	output.UntilCount(p.ctx, t, "the first result", 1)
	p.untilReadyz(address, http.StatusOK)
	must.Do(t, kafka.Freeze())
	body := p.untilReadyz(address, http.StatusServiceUnavailable)
	expect.That(t, strings.Contains(body, "coordinator") || strings.Contains(body, "control topic") || strings.Contains(body, "member"), "/readyz returns no reason: %s", body)
	consumer.Signal(t, syscall.SIGTERM)
	consumer.Wait(p.ctx, t)
	must.Do(t, kafka.Thaw())
	p.send("b")
	p.drain()
	wantTotals(t, p.verify(), 2, conservation.Place{Output: 2})
}

// untilReadyz waits until /readyz answers with the status, and returns the body.
func (p *pipe) untilReadyz(address string, status int) (body string) {
	p.t.Helper()
	eventually.Until(p.ctx, p.t, fmt.Sprintf("status %d of /readyz", status), func() (bool, string) {
		code, now := p.get(address, "/readyz")
		body = now
		return code == status, fmt.Sprint(code, " ", body)
	})
	return body
}

// S3-1: a consumer that restarts under its name after a kill takes over its partitions at once. It does not wait for the
// session of the killed process to time out.
func TestKilled_S3_1_takesOverUnderItsName(t *testing.T) {
	parallel(t, testrun.Nightly, needRealKafka)
	p := newPipe(t, 2*time.Minute, heldSession).ensure()
	output := p.log.Tail(t, p.topics.Output)
	p.send("a", "b", "c")
	first := p.start("it")
	output.UntilCount(p.ctx, t, "the first results", 3)
	first.Kill()
	p.send("d", "e", "f")
	second := p.start("it")
	output.UntilCount(p.ctx, t, "the results after the kill", 6)
	p.stop(second)
	wantTotals(t, p.verify(), 6, conservation.Place{Output: 6})
}

// members waits until the group is stable with n members that all have partitions. With n = 0, it waits until the group
// has no member.
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

// stop sends SIGTERM to a consumer and checks that it exits with code 0.
func (p *pipe) stop(consumer *proc.Process) proc.Result {
	p.t.Helper()
	consumer.Signal(p.t, syscall.SIGTERM)
	r := consumer.Wait(p.ctx, p.t)
	expect.That(p.t, r.Code == 0, "after SIGTERM: %s", r)
	return r
}

// S0-4, S3-1: a second consumer joins and leaves while records wait in a tier. Each record is retried once, not
// early, and is delivered once.
func TestRebalanceWhileWaiting_S0_4(t *testing.T) {
	parallel(t, testrun.Proof)
	wait := 8 * time.Second
	for !rebalanceWhileWaiting(t, wait) {
		if wait *= 3; wait > 2*time.Minute {
			t.Fatalf("records that wait for %v were due before the group was done", wait/3)
		}
	}
}

// rebalanceWhileWaiting returns false if all records were delivered before the rebalances were done. The test then
// proved nothing, and the wait is too short for this machine.
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
	expect.Equal(t, p.wantNoneEarly(waiting.Seen()), n, "tier records")
	return early < n
}

// S3-1: a broker that is killed and started again interrupts a consumer only while the broker is down. The consumer does
// not wait for its session to time out.
func TestBrokerRestarts_S3_1_itsMembersStayMembers(t *testing.T) {
	parallel(t, testrun.Nightly)
	kafka := ownKafka(t)
	p := newPipeOn(t, []string{kafka.Addr}, 3*time.Minute, heldSession).ensure()
	output := p.log.Tail(t, p.topics.Output)
	consumer := p.start("it")
	p.send("a", "b", "c")
	output.UntilCount(p.ctx, t, "the first results", 3)
	must.Do(t, kafka.Kill())
	must.Do(t, kafka.Start(p.ctx))
	p.send("d", "e", "f")
	output.UntilCount(p.ctx, t, "the results after the restart", 6)
	p.stop(consumer)
	wantTotals(t, p.verify(), 6, conservation.Place{Output: 6})
}
