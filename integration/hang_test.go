package integration

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/broker"
	"github.com/switchback-geo/switchback/internal/testkit/conservation"
	"github.com/switchback-geo/switchback/internal/testkit/eventually"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/proc"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

// heldSession sets the longest session timeout. It is longer than the time limit of a test, so a consumer that waits for a
// session to time out never goes on.
func heldSession(s *settings) { s.Session = "30m" }

// ownKafka starts a broker that the test may kill and freeze.
func ownKafka(t *testing.T) *broker.Owned {
	t.Helper()
	needRealKafka(t)
	ctx, cancel := context.WithTimeout(t.Context(), testrun.Patient(5*time.Minute))
	defer cancel()
	kafka, err := broker.Own(ctx, broker.OwnOptions{})
	must.That(t, err == nil, "%v", err)
	t.Cleanup(func() {
		if err := kafka.Close(false); err != nil {
			t.Error(err)
		}
	})
	return kafka
}

// S4-12: a consumer whose brokers hang becomes unready. After SIGTERM it waits for them until engine.shutdown_timeout and ends,
// while they still hang.
func TestBrokerHangs_S4_12_unreadyAndEndsInTime(t *testing.T) {
	testrun.Nightly(t)
	t.Parallel()
	kafka := ownKafka(t)
	p := newPipeOn(t, []string{kafka.Addr}, 3*time.Minute, func(s *settings) { s.Metrics, s.Session = "127.0.0.1:0", "6s" }).ensure()
	output := p.log.Tail(t, p.topics.Output)
	spec := p.spec("consumer", "run", "-c", p.file)
	spec.Env = append(spec.Env, "SWITCHBACK_ENGINE_INSTANCE=it", "SWITCHBACK_ENGINE_SHUTDOWN_TIMEOUT=4s")
	consumer := proc.Start(t, spec)
	address := p.address(consumer)
	p.send("a")
	output.UntilCount(p.ctx, t, "the first result", 1)
	p.untilReady(address, http.StatusOK)
	must.Do(t, kafka.Freeze())
	if body := p.untilReady(address, http.StatusServiceUnavailable); !strings.Contains(body, "coordinator") && !strings.Contains(body, "control topic") && !strings.Contains(body, "member") {
		t.Errorf("/readyz does not say why: %s", body)
	}
	consumer.Signal(t, syscall.SIGTERM)
	consumer.Wait(p.ctx, t)
	must.Do(t, kafka.Thaw())
	p.send("b")
	p.drain()
	wantTotals(t, p.verify(), 2, conservation.Place{Output: 2})
}

// untilReady waits for a status of /readyz and returns what it says.
func (p *pipe) untilReady(address string, status int) (said string) {
	p.t.Helper()
	eventually.Until(p.ctx, p.t, fmt.Sprintf("/readyz to say %d", status), func() (bool, string) {
		code, body := p.get(address, "/readyz")
		said = body
		return code == status, fmt.Sprint(code, " ", body)
	})
	return said
}

// S3-1: a consumer that was killed and comes back under its name takes its partitions over at once. It does not wait for the
// session of the killed process to time out.
func TestKilled_S3_1_takesOverUnderItsName(t *testing.T) {
	testrun.Nightly(t)
	t.Parallel()
	needRealKafka(t)
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

// S3-1: a broker that is killed and started again interrupts a consumer for as long as it is away, not for a session.
func TestBrokerRestarts_S3_1_itsMembersStayMembers(t *testing.T) {
	testrun.Nightly(t)
	t.Parallel()
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
