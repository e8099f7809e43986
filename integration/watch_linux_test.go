package integration

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/switchback-geo/switchback/internal/testkit/conservation"
	"github.com/switchback-geo/switchback/internal/testkit/eventually"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/proc"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

// screen is a terminal of a fixed size with a command that draws a live view.
type screen struct {
	pipe          *pipe
	columns, rows uint16
	command       *exec.Cmd

	mu   sync.Mutex
	text bytes.Buffer
}

// startWatch starts `consumer status --watch`.
func (p *pipe) startWatch(columns, rows uint16) *screen {
	p.t.Helper()
	master := must.Get(os.OpenFile("/dev/ptmx", os.O_RDWR, 0))(p.t)
	p.t.Cleanup(func() { _ = master.Close() })
	must.Do(p.t, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	n := must.Get(unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN))(p.t)
	terminal := must.Get(os.OpenFile(fmt.Sprint("/dev/pts/", n), os.O_RDWR|syscall.O_NOCTTY, 0))(p.t)
	p.t.Cleanup(func() { _ = terminal.Close() })
	must.Do(p.t, unix.IoctlSetWinsize(int(terminal.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: columns, Row: rows}))
	s := &screen{pipe: p, columns: columns, rows: rows}
	s.command = exec.CommandContext(p.ctx, p.environment.commands["consumer"], "status", "-c", p.file, "--watch", "--every", "500ms")
	s.command.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { // the variables of the test run are not keys of a pipeline
		return strings.HasPrefix(v, "SWITCHBACK_")
	})
	s.command.Stdout, s.command.Stderr = terminal, terminal
	must.Do(p.t, s.command.Start())
	go func() { _, _ = io.Copy(s, master) }()
	return s
}

// Write appends the output of the command.
func (s *screen) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(text)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// picture returns the last complete picture.
func (s *screen) picture() []string {
	pictures := strings.Split(s.String(), "\x1b[H")
	for i := len(pictures) - 1; i > 0; i-- {
		if picture, whole := strings.CutSuffix(strings.TrimRight(pictures[i], "\r\n"), "\x1b[J"); whole {
			return strings.Split(strings.ReplaceAll(strings.TrimRight(picture, "\r\n"), "\x1b[K", ""), "\r\n")
		}
	}
	return nil
}

// waitFor waits for a picture that matches. No picture may exceed the terminal.
func (s *screen) waitFor(what string, pattern *regexp.Regexp) {
	s.pipe.t.Helper()
	eventually.Until(s.pipe.ctx, s.pipe.t, what, func() (bool, string) {
		lines := s.picture()
		must.That(s.pipe.t, len(lines) < int(s.rows), "%d lines on %d rows", len(lines), s.rows)
		for _, line := range lines {
			n := len([]rune(line))
			must.That(s.pipe.t, n <= int(s.columns), "%d characters in %d columns: %q", n, s.columns, line)
		}
		text := strings.Join(lines, "\n")
		return pattern.MatchString(text), text
	})
}

// S2-7: `consumer status --watch` draws the pipeline in place: no instance runs, one starts, the lag shrinks to zero.
// The view never exceeds the terminal, and an interrupt ends the command.
func TestStatusWatch_S2_7(t *testing.T) {
	parallel(t, testrun.Fast)
	p := newPipe(t, 2*time.Minute).ensure()
	p.send(ids("w", 50)...)
	s := p.startWatch(80, 24)
	s.waitFor("no running instance", regexp.MustCompile(`(?s)lag 50, not shrinking.*no instance is running`))
	consumer := p.start("it")
	s.waitFor("the instance, and no lag", regexp.MustCompile(`(?s)no lag.*1 instance is running`))
	p.stop(consumer)
	must.Do(t, s.command.Process.Signal(syscall.SIGINT))
	err := s.command.Wait()
	expect.That(t, err == nil, "after an interrupt: %v\n%s", err, s)
}

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
