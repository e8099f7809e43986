package integration

import (
	"net"
	"regexp"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/switchback-geo/switchback/internal/testkit/conservation"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/proc"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

// S3-3: idle connections to the metrics port, or a process without free file descriptors, cost no attempt and cause no
// dead letter.
func TestFiles_S3_3_aShortageCostsNoAttempt(t *testing.T) {
	parallel(t, testrun.Nightly)
	p := newPipe(t, time.Minute, func(s *settings) { s.Metrics = "127.0.0.1:0" }).ensure()
	spec := p.spec("consumer")
	spec.Env = []string{"SWITCHBACK_ENGINE_INSTANCE=it"}
	spec.Args = []string{"-c", `ulimit -n 256; exec "$0" "$@"`, spec.Path, "run", "-c", p.file}
	spec.Path = "/bin/sh"
	consumer := proc.Start(t, spec)
	address := p.metricsAddress(consumer)
	for range 400 {
		conn := must.Get((&net.Dialer{}).DialContext(p.ctx, "tcp", address))(t)
		t.Cleanup(func() { _ = conn.Close() })
	}
	output := p.log.Tail(t, p.topics.Output)
	p.send(ids("idle", 100)...)
	output.UntilCount(p.ctx, t, "outputs while 400 connections are idle", 100)

	// From here on, the consumer cannot open anything. The service closes its connections, so each attempt needs a new
	// one.
	p.places.Disconnect()
	limit := func(files uint64) {
		must.Do(t, unix.Prlimit(consumer.Pid(), unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: files, Max: 256}, nil))
	}
	limit(4)
	p.send(ids("short", 100)...)
	consumer.WaitFor(p.ctx, t, consumer.Stderr, regexp.MustCompile(`a resource of the machine is exhausted.*file descriptors of the process`))
	limit(256)
	output.UntilCount(p.ctx, t, "outputs after descriptors are available again", 200)
	p.stop(consumer)
	wantTotals(t, p.verify(), 200, conservation.Place{Output: 200})
	p.wantFirstAttempts(p.topics.Output)
}
