//go:build unix

package proc

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// Memory follows how much memory a process has in use at most. The system's own figure for a process that has ended
// (ru_maxrss) begins, on Linux, with that of the process that started it, a test with megabytes of records; so the
// kernel's high-water mark is looked at while the process runs.
type Memory struct {
	cmd  *exec.Cmd
	stop func()

	mu   sync.Mutex
	peak int
}

// lookEvery is short beside any test that asks; the mark never falls, so the last look misses only what the process took
// in its last moments.
const lookEvery = 20 * time.Millisecond

// WatchMemory begins to follow a process that was just started.
func WatchMemory(cmd *exec.Cmd) *Memory {
	m := &Memory{cmd: cmd}
	done := make(chan struct{})
	m.stop = sync.OnceFunc(func() { close(done) })
	m.look() // some end before the first tick
	go func() {
		tick := time.NewTicker(lookEvery)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				m.look()
			}
		}
	}()
	return m
}

// Memory is that of the process since its start.
func (p *Process) Memory() *Memory { return p.mem }

func (m *Memory) look() {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", m.cmd.Process.Pid))
	if err != nil {
		return // it has ended, or the system has no such file
	}
	_, rest, found := bytes.Cut(status, []byte("VmHWM:"))
	if !found {
		return // it has ended, and was not waited for
	}
	kilobytes, err := strconv.Atoi(string(bytes.Fields(rest)[0]))
	if err != nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.peak = max(m.peak, kilobytes<<10)
}

// Peak gives the most bytes that the process had in memory; 0 for one that ended at once. It must have been waited for.
func (m *Memory) Peak() int {
	m.stop()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.peak > 0 || runtime.GOOS == "linux" { // there, what the system says of an ended process may be its parent's
		return m.peak
	}
	usage, ok := m.cmd.ProcessState.SysUsage().(*syscall.Rusage)
	switch {
	case !ok:
		return 0
	case runtime.GOOS == "darwin":
		return int(usage.Maxrss) // bytes there, kilobytes elsewhere
	}
	return int(usage.Maxrss) << 10
}
