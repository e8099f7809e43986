package integration

import (
	"bytes"
	"fmt"
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

	"github.com/switchback-geo/switchback/internal/testkit/eventually"
	"github.com/switchback-geo/switchback/internal/testkit/must"
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
	if err := unix.IoctlSetWinsize(int(terminal.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: columns, Row: rows}); err != nil {
		t.Fatal(err)
	}
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
	testrun.Fast(t)
	t.Parallel()
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
	if err := w.command.Start(); err != nil {
		p.t.Fatal(err)
	}
	return w
}

// see waits for a picture. None is larger than the terminal.
func (w *liveView) see(what string, pattern *regexp.Regexp) {
	w.pipe.t.Helper()
	eventually.Until(w.pipe.ctx, w.pipe.t, what, func() (bool, string) {
		lines := w.shown()
		if len(lines) > w.rows-1 {
			w.pipe.t.Fatalf("%d lines on %d rows", len(lines), w.rows)
		}
		for _, line := range lines {
			if n := len([]rune(line)); n > w.columns {
				w.pipe.t.Fatalf("%d characters in %d columns: %q", n, w.columns, line)
			}
		}
		text := strings.Join(lines, "\n")
		return pattern.MatchString(text), text
	})
}

// interrupt ends the command, which is no failure.
func (w *liveView) interrupt() {
	w.pipe.t.Helper()
	if err := w.command.Process.Signal(syscall.SIGINT); err != nil {
		w.pipe.t.Fatal(err)
	}
	if err := w.command.Wait(); err != nil {
		w.pipe.t.Errorf("after an interrupt: %v\n%s", err, w.written())
	}
}
