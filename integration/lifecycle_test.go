package integration

import (
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/conservation"
	"github.com/switchback-geo/switchback/internal/testkit/misbehave"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

// S4-12: SIGTERM lets what is in flight finish, commits it, and exits 0.
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
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	p := newPipe(t, time.Minute, func(s *settings) { s.Metrics = taken.Addr().String() }).ensure()
	r := p.run("consumer", "run", "-c", p.file)
	if r.Code != 1 || !strings.Contains(r.Stderr, taken.Addr().String()) || !strings.Contains(r.Stderr, "--metrics") {
		t.Errorf("want exit code 1 and a line that names %s and the flag --metrics: %s", taken.Addr(), r)
	}
}
