//go:build unix

package rewrite

import (
	"os/exec"
	"syscall"
)

// ownGroup starts a command in a process group of its own, which endGroup can kill.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return endGroup(cmd) }
}

// endGroup kills the remaining processes of a command that was started.
func endGroup(cmd *exec.Cmd) error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
