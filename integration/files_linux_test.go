package integration

import (
	"net"
	"os"
	"regexp"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/switchback-geo/switchback/internal/testkit/conservation"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/proc"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

// S3-3: idle connections to the metrics port and a process without descriptors cost no attempt and make no dead letter.
func TestFiles_S3_3_aShortageCostsNoAttempt(t *testing.T) {
	testrun.Nightly(t)
	t.Parallel()
	p := newPipe(t, time.Minute, func(s *settings) { s.Metrics = "127.0.0.1:0" }).ensure()
	spec := p.spec("consumer")
	spec.Env = []string{"SWITCHBACK_ENGINE_INSTANCE=it"}
	spec.Args = []string{"-c", `ulimit -n 256; exec "$0" "$@"`, spec.Path, "run", "-c", p.file}
	spec.Path = "/bin/sh"
	consumer := proc.Start(t, spec)
	address := consumer.WaitFor(p.ctx, t, consumer.Stderr, regexp.MustCompile(`"msg":"metrics served".*"address":"([^"]+)"`))[1]
	for range 400 {
		conn, err := (&net.Dialer{}).DialContext(p.ctx, "tcp", address)
		must.That(t, err == nil, "%v", err)
		t.Cleanup(func() { _ = conn.Close() })
	}
	output := p.log.Tail(t, p.topics.Output)
	p.send(ids("idle", 100)...)
	output.UntilCount(p.ctx, t, "outputs beside 400 idle connections", 100)

	// Nothing more can be opened now. The connections to the service are closed by it, so each attempt needs a new one.
	p.places.Disconnect()
	limit(t, consumer.Pid(), 4)
	p.send(ids("short", 100)...)
	consumer.WaitFor(p.ctx, t, consumer.Stderr, regexp.MustCompile(`the machine is short of a resource.*file descriptors of the process`))
	limit(t, consumer.Pid(), 256)
	output.UntilCount(p.ctx, t, "outputs once there are descriptors again", 200)
	p.stop(consumer)
	wantTotals(t, p.verify(), 200, conservation.Place{Output: 200})
	p.triedOnce(p.topics.Output)
}

// limit sets how many descriptors a process may have open.
func limit(t *testing.T, pid int, files uint64) {
	t.Helper()
	want := syscall.Rlimit{Cur: files, Max: 256}
	const sysPrlimit64, nofile = syscall.SYS_PRLIMIT64, syscall.RLIMIT_NOFILE
	if _, _, errno := syscall.Syscall6(sysPrlimit64, uintptr(pid), nofile, uintptr(unsafe.Pointer(&want)), 0, 0, 0); errno != 0 {
		t.Fatal(os.NewSyscallError("prlimit", errno))
	}
}
