package proc

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
)

// A Leash kills one process when the program that holds the leash ends, whether by a return, a panic, a test timeout or
// SIGKILL. It is a small shell that waits until its standard input is closed. The operating system closes the pipe in
// every case; a cleanup function might not run.
type Leash struct {
	shell *exec.Cmd
	pipe  io.WriteCloser
}

// NewLeash ties the process with this ID to the calling program.
func NewLeash(pid int) (*Leash, error) {
	return NewLeashScript(`kill -9 "$1" 2>/dev/null`, strconv.Itoa(pid))
}

// NewLeashScript creates a leash that runs a shell script with these arguments when the calling program has ended.
func NewLeashScript(script string, args ...string) (*Leash, error) {
	shell := exec.Command("sh", append([]string{"-c", "read -r _\n" + script, "leash"}, args...)...)
	detach(shell) // Ctrl-C in the terminal must not end the leash before its holder
	pipe, err := shell.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("leash: %w", err)
	}
	if err := shell.Start(); err != nil {
		return nil, fmt.Errorf("leash: %w", err)
	}
	return &Leash{shell: shell, pipe: pipe}, nil
}

// Release removes the leash. Call it once the process has been reaped, because its ID may then be reused. It ends the
// shell before it closes the pipe, so that closing the pipe cannot trigger the kill.
func (l *Leash) Release() {
	_ = l.shell.Process.Signal(os.Kill)
	_ = l.shell.Wait()
	_ = l.pipe.Close()
}
