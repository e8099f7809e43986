package integration

import (
	"net"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/conservation"
	"github.com/switchback-geo/switchback/internal/testkit/eventually"
	"github.com/switchback-geo/switchback/internal/testkit/misbehave"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

// S4-12: SIGTERM lets what is in flight finish, commits it, and exits 0.
// stopping is what a consumer says when it has been told to stop.
var stopping = regexp.MustCompile(`(?m)^consumer: stopping`)

func TestSigterm_S4_12(t *testing.T) {
	testrun.Fast(t)
	t.Parallel()
	p := newPipe(t, time.Minute).ensure()
	release := make(chan struct{})
	p.places.Script("slow", misbehave.Answer{Status: 200, Hold: release})
	consumer := p.start("it")
	p.send("slow")
	p.places.UntilArrivals(p.ctx, t, "slow", 1)
	consumer.Signal(t, syscall.SIGTERM)
	close(release)
	if r := consumer.Wait(p.ctx, t); r.Code != 0 {
		t.Errorf("after SIGTERM: %s", r)
	}
	wantTotals(t, p.verify(), 1, conservation.Place{Output: 1})
	if n := len(p.places.Arrivals("slow")); n != 1 {
		t.Errorf("%d requests, want 1: the work in flight was thrown away and done again", n)
	}
	p.members(0)
}

// S2-7: a port in use is named, with the flag or key that changes it.
func TestPortInUse_S2_7(t *testing.T) {
	testrun.Fast(t)
	t.Parallel()
	taken := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer taken.Close()
	p := newPipe(t, time.Minute, func(s *settings) { s.Metrics = taken.Addr().String() }).ensure()
	r := p.run("consumer", "run", "-c", p.file)
	if r.Code != 1 || !strings.Contains(r.Stderr, taken.Addr().String()) || !strings.Contains(r.Stderr, "--metrics") {
		t.Errorf("want exit code 1 and a line that names %s and the flag --metrics: %s", taken.Addr(), r)
	}
}

// S4-12: a second signal leaves at once, whatever is in flight, with the exit
// code that shells give a signal; nothing is lost.
func TestSecondSignal_S4_12(t *testing.T) {
	testrun.Fast(t)
	t.Parallel()
	for name, c := range map[string]struct {
		signal syscall.Signal
		code   int
	}{"SIGTERM": {syscall.SIGTERM, 143}, "SIGINT": {syscall.SIGINT, 130}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPipe(t, time.Minute, killed, func(s *settings) { s.Timeout, s.Shutdown = "55s", "1h" }).ensure() // only the second signal ends the request
			p.places.Script("stuck", misbehave.Answer{Status: 200, Hold: make(chan struct{})})
			consumer := p.start("it")
			p.send("stuck")
			p.places.UntilArrivals(p.ctx, t, "stuck", 1)
			consumer.Signal(t, c.signal)
			consumer.WaitFor(p.ctx, t, consumer.Stderr, stopping)
			stopped := time.Now()
			eventually.Until(p.ctx, t, "the end of the time in which a signal that comes again is the same", func() (bool, string) {
				return time.Since(stopped) > 200*time.Millisecond, ""
			})
			consumer.Signal(t, c.signal)
			if r := consumer.Wait(p.ctx, t); r.Code != c.code {
				t.Errorf("want exit code %d: %s", c.code, r)
			}
			p.drain()
			wantTotals(t, p.verify(), 1, conservation.Place{Output: 1})
		})
	}
}
