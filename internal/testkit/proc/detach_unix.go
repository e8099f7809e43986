//go:build unix

package proc

import (
	"os/exec"
	"syscall"
)

// detach gives the command its own process group, so that a signal for the test's group (Ctrl-C in a terminal) does not
// reach it.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
