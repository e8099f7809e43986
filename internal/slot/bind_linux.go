package slot

import (
	"errors"
	"io"
	"net"
	"syscall"
)

// bind takes an abstract socket; free is false when another process has it.
func bind(address string) (held io.Closer, free bool, err error) {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: "@" + address, Net: "unix"})
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	return l, true, nil
}
