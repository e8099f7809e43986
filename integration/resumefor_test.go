package integration

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/conservation"
	"github.com/switchback-geo/switchback/internal/testkit/eventually"
	"github.com/switchback-geo/switchback/internal/testkit/misbehave"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

// Issue 18: a gate pauses the pipeline and says what it read; resumed with --for it sees the same failures through, in an instance
// that starts meanwhile too; after that the gate judges again.
func TestResumeFor_S1_8_S4_12(t *testing.T) {
	testrun.Nightly(t)
	t.Parallel()
	p := newPipe(t, 2*time.Minute, killed, func(s *settings) { s.Metrics = "127.0.0.1:0" }, tolerance("max_null_rate: 1, halt_on_geometry_invalid: false, max_transient_rate: 0.2, max_dead_letter_rate: 1, min_records: 30")).ensure()
	failing := func(names []string) {
		for i, id := range names {
			if i%3 == 0 {
				p.places.Script(id, misbehave.Status(503))
			}
		}
	}
	all := ids("a", 90)
	failing(all)
	one := p.start("one")
	p.send(all...)
	one.WaitFor(p.ctx, t, one.Stderr, regexp.MustCompile(`pipeline paused`))
	paused := func() {
		eventually.Until(p.ctx, t, "paused by the gate", func() (bool, string) {
			s := p.state().State
			return s.State == "held" && s.Code == "transient_rate", s.State
		})
	}
	paused()
	if s := p.state().State; !regexp.MustCompile(`^\d+ of \d+ records \(\d.* %\) failed transiently at their first attempt within 10m.*max_transient_rate is 20 %$`).MatchString(s.Reason) {
		t.Errorf("the reason does not say what the gate read: %s", s.Reason)
	}
	if r := p.run("consumer", "resume", "-c", p.file, "--reason", "x", "--for", "25h"); r.Code != 2 || !strings.Contains(r.Stderr, "at most 24h") {
		t.Errorf("too long: %s", r)
	}
	failing(all) // those that were tried before fail again
	r := p.order("resume", "--for", "1h", "--reason", "all known")
	for _, text := range []string{"it was held since ", "failed transiently", "the rate gates are off until "} {
		if !strings.Contains(r.Stderr, text) {
			t.Errorf("resume does not say %q: %s", text, r)
		}
	}
	two := p.start("two")
	one.WaitFor(p.ctx, t, one.Stderr, regexp.MustCompile(`the rate gates are off`))
	address := p.address(one)
	gatesOff := func(value string) {
		eventually.Until(p.ctx, t, "the metric of the gates to be "+value, func() (bool, string) {
			_, body := p.get(address, "/metrics")
			return regexp.MustCompile(`(?m)^switchback_rate_gates_off\{[^}]*\} ` + value + "$").MatchString(body), ""
		})
	}
	gatesOff("1")
	eventually.Until(p.ctx, t, "all of them delivered", func() (bool, string) {
		n := len(p.read(p.topics.Output))
		return n == len(all), fmt.Sprintf("%d of %d", n, len(all))
	})
	p.order("resume", "--for", "1s", "--reason", "all known")
	one.WaitFor(p.ctx, t, one.Stderr, regexp.MustCompile(`the rate gates judge again`))
	gatesOff("0")
	two.WaitFor(p.ctx, t, two.Stderr, regexp.MustCompile(`the rate gates`))
	if s := p.state().State; s.State != "running" {
		t.Fatalf("paused while the gates were off: %+v", s)
	}
	more := ids("b", 240) // enough for either of two instances
	failing(more)
	p.send(more...)
	paused()
	p.order("resume", "--for", "1m", "--reason", "all known")
	if r := p.order("status"); !strings.Contains(r.Stdout, "no rate pauses the pipeline") {
		t.Errorf("the status does not say that the rate gates are off: %s", r)
	}
	p.finish(one, two)
	wantTotals(t, p.verify(), len(all)+len(more), conservation.Place{Output: len(all) + len(more)})
	if trail := p.ordersTrail(); strings.Count(trail, "state_changed: all known") != 3 || strings.Count(trail, "held: ") != 2 {
		t.Errorf("audit trail of the orders: %s", trail)
	}
}
