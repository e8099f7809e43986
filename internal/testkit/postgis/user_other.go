//go:build !unix

package postgis

import (
	"fmt"
	"os"
	osexec "os/exec"
)

type (
	credential struct{}
	signal     = os.Signal
)

var (
	fastShutdown      signal = os.Interrupt
	immediateShutdown signal = os.Kill
)

// unprivileged returns an error, because servers are only started on systems where signals can end them.
func unprivileged() (*credential, error) {
	return nil, fmt.Errorf("%w: a server is started on Unix systems only; name one in %s", errAbsent, EnvDSN)
}

func own(string, *credential) error { return nil }

func runAs(*osexec.Cmd, *credential) {}
