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

// PostgreSQL's own words for how a server ends.
const (
	fastShutdown      = syscall.SIGINT
	immediateShutdown = syscall.SIGQUIT
)

// unprivileged is the user that PostgreSQL runs as, or nil for the test's own:
// root is refused by PostgreSQL.
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

// own gives a folder to the user.
func own(dir string, cred *credential) error {
	if cred == nil {
		return nil
	}
	return os.Chown(dir, int(cred.Uid), int(cred.Gid))
}

// runAs makes the command run as the user, in a process group of its own: a
// Ctrl-C in the terminal is for the test, which ends the server in its own way.
func runAs(cmd *osexec.Cmd, cred *credential) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: cred}
}
