package integration

import (
	"bytes"
	"fmt"
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
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/switchback-geo/switchback/internal/testkit/conservation"
	"github.com/switchback-geo/switchback/internal/testkit/eventually"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/proc"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

// screen is a terminal of a size, and what was written to it.
type screen struct {
	terminal *os.File // the program's side

	mu   sync.Mutex
	text bytes.Buffer
}

func newScreen(t *testing.T, columns, rows uint16) *screen {
	t.Helper()
	master := must.Get(os.OpenFile("/dev/ptmx", os.O_RDWR, 0))(t)
	t.Cleanup(func() { _ = master.Close() })
	must.Do(t, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	n := must.Get(unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN))(t)
	terminal := must.Get(os.OpenFile(fmt.Sprint("/dev/pts/", n), os.O_RDWR|syscall.O_NOCTTY, 0))(t)
	t.Cleanup(func() { _ = terminal.Close() })
	must.Do(t, unix.IoctlSetWinsize(int(terminal.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: columns, Row: rows}))
	s := &screen{terminal: terminal}
	go func() {
		buffer := make([]byte, 4096)
		for {
			n, err := master.Read(buffer)
			s.mu.Lock()
			s.text.Write(buffer[:n])
			s.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return s
}

func (s *screen) written() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// shown is the last whole picture.
func (s *screen) shown() []string {
	pictures := strings.Split(s.written(), "\x1b[H")
	for i := len(pictures) - 1; i > 0; i-- {
		if picture, whole := strings.CutSuffix(strings.TrimRight(pictures[i], "\r\n"), "\x1b[J"); whole {
			return strings.Split(strings.ReplaceAll(strings.TrimRight(picture, "\r\n"), "\x1b[K", ""), "\r\n")
		}
	}
	return nil
}

// S2-7: consumer status --watch draws the pipeline in place: no instance runs, one starts, the lag shrinks to nothing. The view never
// exceeds the terminal, and an interrupt ends it.
func TestStatusWatch_S2_7(t *testing.T) {
	beside(t, testrun.Fast)
	p := newPipe(t, 2*time.Minute).ensure()
	p.send(ids("w", 50)...)
	s := p.watches(80, 24, "consumer", "status")
	s.see("that nobody runs", regexp.MustCompile(`(?s)lag 50, not shrinking.*no instance is running`))
	consumer := p.start("it")
	s.see("the instance, and no lag", regexp.MustCompile(`(?s)no lag.*1 instance is running`))
	p.stop(consumer)
	s.interrupt()
}

// liveView is a command with a live view, on a terminal of a size.
type liveView struct {
	*screen
	pipe          *pipe
	columns, rows int
	command       *exec.Cmd
}

// watches starts a command with --watch.
func (p *pipe) watches(columns, rows uint16, program string, args ...string) *liveView {
	p.t.Helper()
	w := &liveView{screen: newScreen(p.t, columns, rows), pipe: p, columns: int(columns), rows: int(rows)}
	w.command = exec.CommandContext(p.ctx, p.world.commands[program], append(args, "-c", p.file, "--watch", "--every", "500ms")...)
	w.command.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { // the settings of the test run are no keys of a pipeline
		return strings.HasPrefix(v, "SWITCHBACK_")
	})
	w.command.Stdout, w.command.Stderr = w.terminal, w.terminal
	must.Do(p.t, w.command.Start())
	return w
}

// see waits for a picture. None is larger than the terminal.
func (w *liveView) see(what string, pattern *regexp.Regexp) {
	w.pipe.t.Helper()
	eventually.Until(w.pipe.ctx, w.pipe.t, what, func() (bool, string) {
		lines := w.shown()
		must.That(w.pipe.t, len(lines) <= w.rows-1, "%d lines on %d rows", len(lines), w.rows)
		for _, line := range lines {
			n := len([]rune(line))
			must.That(w.pipe.t, n <= w.columns, "%d characters in %d columns: %q", n, w.columns, line)
		}
		text := strings.Join(lines, "\n")
		return pattern.MatchString(text), text
	})
}

// interrupt ends the command, which is no failure.
func (w *liveView) interrupt() {
	w.pipe.t.Helper()
	must.Do(w.pipe.t, w.command.Process.Signal(syscall.SIGINT))
	if err := w.command.Wait(); err != nil {
		w.pipe.t.Errorf("after an interrupt: %v\n%s", err, w.written())
	}
}

// S3-3: idle connections to the metrics port and a process without descriptors cost no attempt and make no dead letter.
func TestFiles_S3_3_aShortageCostsNoAttempt(t *testing.T) {
	beside(t, testrun.Nightly)
	p := newPipe(t, time.Minute, func(s *settings) { s.Metrics = "127.0.0.1:0" }).ensure()
	spec := p.spec("consumer")
	spec.Env = []string{"SWITCHBACK_ENGINE_INSTANCE=it"}
	spec.Args = []string{"-c", `ulimit -n 256; exec "$0" "$@"`, spec.Path, "run", "-c", p.file}
	spec.Path = "/bin/sh"
	consumer := proc.Start(t, spec)
	address := consumer.WaitFor(p.ctx, t, consumer.Stderr, regexp.MustCompile(`"msg":"metrics served".*"address":"([^"]+)"`))[1]
	for range 400 {
		conn := must.Get((&net.Dialer{}).DialContext(p.ctx, "tcp", address))(t)
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
