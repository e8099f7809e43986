//go:build unix

package proc

import (
	"os"
	"runtime"
	"syscall"
)

// PeakMemory gives how many bytes a process that has ended had in memory at most, 0 where the system does not tell.
func PeakMemory(state *os.ProcessState) int {
	usage, ok := state.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	if runtime.GOOS == "darwin" {
		return int(usage.Maxrss) // bytes there, kilobytes elsewhere
	}
	return int(usage.Maxrss) << 10
}
