package integration

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/switchback-geo/switchback/internal/testkit/eventually"
)

// screen is a terminal of a size, and what was written to it.
type screen struct {
	terminal *os.File // the program's side

	mu   sync.Mutex
	text bytes.Buffer
}

func newScreen(t *testing.T, columns, rows uint16) *screen {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = master.Close() })
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	terminal, err := os.OpenFile(fmt.Sprint("/dev/pts/", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
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

// S2-7: consumer status --watch draws the pipeline in place, on a narrow and on a wide terminal: nobody runs, an instance comes, the lag
// goes. It never draws beyond the terminal, and an interrupt is its end.
func TestStatusWatch_S2_7(t *testing.T) {
	t.Parallel()
	for _, columns := range []uint16{80, 200} {
		t.Run(fmt.Sprint(columns), func(t *testing.T) {
			t.Parallel()
			const rows = 24
			p := newPipe(t, 2*time.Minute).ensure()
			p.send(ids("w", 50)...)
			s := newScreen(t, columns, rows)
			watch := exec.CommandContext(p.ctx, p.world.commands["consumer"], "status", "-c", p.file, "--watch", "--every", "500ms")
			watch.Stdout, watch.Stderr = s.terminal, s.terminal
			if err := watch.Start(); err != nil {
				t.Fatal(err)
			}
			see := func(what string, pattern *regexp.Regexp) {
				t.Helper()
				eventually.Until(p.ctx, t, what, func() (bool, string) {
					lines := s.shown()
					if len(lines) > rows-1 {
						t.Fatalf("%d lines on %d rows", len(lines), rows)
					}
					for _, line := range lines {
						if n := len([]rune(line)); n > int(columns) {
							t.Fatalf("%d characters in %d columns: %q", n, columns, line)
						}
					}
					text := strings.Join(lines, "\n")
					return pattern.MatchString(text), text
				})
			}
			see("that nobody runs", regexp.MustCompile(`(?s)lag 50, not shrinking.*no instance is running`))
			consumer := p.start("it")
			see("the instance, and no lag", regexp.MustCompile(`(?s)no lag.*1 instance is running`))
			p.stop(consumer)
			if err := watch.Process.Signal(syscall.SIGINT); err != nil {
				t.Fatal(err)
			}
			if err := watch.Wait(); err != nil {
				t.Errorf("after an interrupt: %v\n%s", err, s.written())
			}
		})
	}
}
