package consumer

import (
	"errors"
	"io"
	"net"
	"syscall"
)

// bindName binds an abstract socket; free is false if another process has bound it.
func bindName(address string) (held io.Closer, free bool, err error) {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: "@" + address, Net: "unix"})
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	return l, true, nil
}
