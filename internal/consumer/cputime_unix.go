//go:build unix

package consumer

import (
	"syscall"
	"time"
)

// cpuTime returns the processor time of the process, in user and system mode.
func cpuTime() (time.Duration, bool) {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0, false
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano()), true
}
