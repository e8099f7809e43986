//go:build bench

package transform

import (
	"syscall"
	"time"
	"unsafe"
)

const cpuUnit = "cpu-ns/op"

// processCPU returns the processor time of the whole process, including garbage collection. Unlike wall-clock time, it
// does not grow on a busy machine.
func processCPU() time.Duration {
	const clockProcessCPUTimeID = 2
	var ts syscall.Timespec
	if _, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockProcessCPUTimeID, uintptr(unsafe.Pointer(&ts)), 0); errno != 0 {
		panic(errno) // only an invalid clock ID fails
	}
	return time.Duration(ts.Nano())
}
