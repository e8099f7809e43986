//go:build bench

package transform

import (
	"syscall"
	"time"
	"unsafe"
)

const cpuUnit = "cpu-ns/op"

// processCPU is the processor time of the whole process, garbage collection
// included: a busy machine leaves it alone, while the clock on the wall goes on.
func processCPU() time.Duration {
	const clockProcessCPUTimeID = 2
	var ts syscall.Timespec
	if _, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockProcessCPUTimeID, uintptr(unsafe.Pointer(&ts)), 0); errno != 0 {
		panic(errno) // only a wrong clock does that
	}
	return time.Duration(ts.Nano())
}
