//go:build unix

package postgis

import (
	"errors"
	"fmt"
	"os"
	osexec "os/exec"
	"os/user"
	"strconv"
	"syscall"
)

type (
	credential = syscall.Credential
	signal     = syscall.Signal
)

// PostgreSQL's names of its shutdown modes.
const (
	fastShutdown      = syscall.SIGINT
	immediateShutdown = syscall.SIGQUIT
)

// unprivileged returns the user to run PostgreSQL as, or nil for the test's own. PostgreSQL refuses to run as root.
func unprivileged() (*credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	var tried []error
	for _, name := range []string{"postgres", "nobody"} {
		account, err := user.Lookup(name)
		if err != nil {
			tried = append(tried, err)
			continue
		}
		uid, err := strconv.ParseUint(account.Uid, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("user %s: %w", name, err)
		}
		gid, err := strconv.ParseUint(account.Gid, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("group of user %s: %w", name, err)
		}
		return &credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
	}
	return nil, fmt.Errorf("%w: PostgreSQL does not run as root, and there is no other user for it: %w", errAbsent, errors.Join(tried...))
}

// own makes the user the owner of a folder.
func own(dir string, cred *credential) error {
	if cred == nil {
		return nil
	}
	return os.Chown(dir, int(cred.Uid), int(cred.Gid))
}

// runAs makes the command run as the user, in its own process group: Ctrl-C in the terminal must only reach the test,
// which ends the server itself.
func runAs(cmd *osexec.Cmd, cred *credential) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: cred}
}
