//go:build unix

package statedir

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// tryLock locks a file and reports true, unless another process has locked it.
func tryLock(f *os.File) (taken bool, err error) {
	switch err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); {
	case err == nil:
		return true, nil
	case errors.Is(err, syscall.EWOULDBLOCK), errors.Is(err, syscall.EINTR):
		return false, nil
	default:
		return false, fmt.Errorf("%w: %s cannot be locked: %w; use a local disk", ErrState, f.Name(), err)
	}
}
