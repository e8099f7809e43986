package main

import (
	"syscall"
	"time"
)

// spent returns the processor time and the peak memory of the process so far.
func spent() (cpu time.Duration, peakMiB int64) {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0, 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), usage.Maxrss >> 10 // KiB on Linux
}
