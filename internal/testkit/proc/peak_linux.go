package proc

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// residentPeak gives how many bytes a process has had in memory at most; 0 once it has ended.
func residentPeak(pid int) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := bytes.Cut(text, []byte("VmHWM:"))
	line, _, _ := bytes.Cut(rest, []byte("kB"))
	kilobytes, err := strconv.ParseInt(string(bytes.TrimSpace(line)), 10, 64)
	if err != nil {
		return 0
	}
	return kilobytes << 10
}
