package ledger

import (
	"syscall"
	"time"
	"unsafe"
)

const cpuUnit = "cpu-ns/op"

// processCPU and threadCPU are processor time, which a busy machine leaves
// alone: neighbours make the clock on the wall go on, not these. (getrusage
// counts in ticks of the kernel, too coarse for one call.)
func processCPU() time.Duration { return cpu(2) } // CLOCK_PROCESS_CPUTIME_ID

func threadCPU() time.Duration { return cpu(3) } // CLOCK_THREAD_CPUTIME_ID

func cpu(clock uintptr) time.Duration {
	var ts syscall.Timespec
	if _, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clock, uintptr(unsafe.Pointer(&ts)), 0); errno != 0 {
		panic(errno) // only a wrong clock does that
	}
	return time.Duration(ts.Nano())
}
