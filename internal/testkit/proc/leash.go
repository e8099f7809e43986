package proc

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
)

// A Leash kills one process when the program that holds the leash ends: by a return, a panic, a test time-out or
// SIGKILL. It is a small shell that waits until its standard input is closed. The operating system closes the pipe
// whatever happened to the holder; a cleanup function would not run.
type Leash struct {
	shell *exec.Cmd
	pipe  io.WriteCloser
}

// NewLeash ties the process with this ID to the calling program.
func NewLeash(pid int) (*Leash, error) {
	return NewLeashScript(`kill -9 "$1" 2>/dev/null`, strconv.Itoa(pid))
}

// NewLeashScript makes a leash that runs a shell script with these arguments when the calling program has ended.
func NewLeashScript(script string, args ...string) (*Leash, error) {
	shell := exec.Command("sh", append([]string{"-c", "read -r _\n" + script, "leash"}, args...)...)
	detach(shell) // a Ctrl-C in the terminal must not cut the leash before the holder is gone
	pipe, err := shell.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("leash: %w", err)
	}
	if err := shell.Start(); err != nil {
		return nil, fmt.Errorf("leash: %w", err)
	}
	return &Leash{shell: shell, pipe: pipe}, nil
}

// Release takes the leash off, which is due once the process has been reaped:
// its id may then belong to somebody else. The shell goes first, the pipe after
// it, so that closing the pipe cannot fire the kill.
func (l *Leash) Release() {
	_ = l.shell.Process.Signal(os.Kill)
	_ = l.shell.Wait()
	_ = l.pipe.Close()
}
