//go:build unix

package chaos

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/integration/chaos/worker"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/proc"
)

// fleet runs workers, one process per instance name, and records how each process exits.
type fleet struct {
	t    testing.TB
	dir  string // logs
	base worker.Settings

	mu      sync.Mutex
	running map[string]*member
	gaveUp  []string // unexpected exits
	kills   int      // running processes that were killed by SIGKILL
}

// member is one process.
type member struct {
	name     string
	cmd      *exec.Cmd
	leash    *proc.Leash
	stopping bool // the test is ending the process; guarded by the fleet's mutex
	frozen   bool
	done     chan struct{}
}

func newFleet(t testing.TB, dir string, base worker.Settings) *fleet {
	f := &fleet{t: t, dir: dir, base: base, running: map[string]*member{}}
	t.Cleanup(f.killAll)
	return f
}

// start starts an instance unless it runs.
func (f *fleet) start(name string) {
	f.t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.running[name] != nil {
		return
	}
	m := must.Get(f.launch(name))(f.t)
	f.running[name] = m
	go f.await(m)
}

func (f *fleet) launch(name string) (*member, error) {
	log, err := os.OpenFile(f.log(name), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	defer log.Close() // the process has its own descriptor
	settings := f.base
	settings.Instance = name
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	m := &member{name: name, cmd: exec.Command(self), done: make(chan struct{})}
	m.cmd.Env = append(os.Environ(), worker.Env+"="+settings.Text())
	m.cmd.Stdout, m.cmd.Stderr = log, log
	m.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C must only reach the test
	if err := m.cmd.Start(); err != nil {
		return nil, err
	}
	if m.leash, err = proc.NewLeash(m.cmd.Process.Pid); err != nil {
		_ = m.cmd.Process.Kill()
		_ = m.cmd.Wait()
	}
	return m, err
}

func (f *fleet) log(name string) string { return filepath.Join(f.dir, "worker-"+name+".log") }

// await waits for a process. After an unexpected exit, it records the exit and restarts the process, as a supervisor
// would.
func (f *fleet) await(m *member) {
	_ = m.cmd.Wait()
	m.leash.Release()
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.running, m.name)
	close(m.done)
	if m.stopping {
		return
	}
	f.gaveUp = append(f.gaveUp, fmt.Sprintf("worker %s: %s: %s", m.name, m.cmd.ProcessState, lastLine(f.log(m.name))))
	again, err := f.launch(m.name)
	if err != nil {
		f.t.Errorf("start worker %s again: %v", m.name, err)
		return
	}
	f.running[m.name] = again
	go f.await(again)
}

func lastLine(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return lines[len(lines)-1]
}

// killed returns how many processes were killed by SIGKILL.
func (f *fleet) killed() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.kills
}

// unexpectedExits returns the exits that the test did not cause.
func (f *fleet) unexpectedExits() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.gaveUp)
}

// names returns the running instances that are not frozen.
func (f *fleet) names() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var names []string
	for name, m := range f.running {
		if !m.frozen {
			names = append(names, name)
		}
	}
	slices.Sort(names) // a seed must not depend on the order of a map
	return names
}

func (f *fleet) member(name string) *member {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.running[name]
}

// kill kills instances with SIGKILL and returns how many of them were running.
func (f *fleet) kill(names ...string) int {
	var hit []*member
	f.mu.Lock()
	for _, name := range names {
		if m := f.running[name]; m != nil && m.cmd.Process.Kill() == nil {
			m.stopping = true
			hit = append(hit, m)
		}
	}
	f.kills += len(hit)
	f.mu.Unlock()
	for _, m := range hit {
		<-m.done
	}
	return len(hit)
}

// killAll kills all remaining instances without counting these kills.
func (f *fleet) killAll() {
	f.mu.Lock()
	var names []string
	for name, m := range f.running {
		m.stopping = true
		names = append(names, name)
	}
	f.mu.Unlock()
	hit := f.kill(names...)
	f.mu.Lock()
	f.kills -= hit
	f.mu.Unlock()
}

// stop stops an instance with SIGTERM. It reports an error exit, or an instance that does not exit in time.
func (f *fleet) stop(name string) {
	f.t.Helper()
	f.mu.Lock()
	m := f.running[name]
	if m == nil {
		f.mu.Unlock()
		return
	}
	m.stopping = true
	_ = m.cmd.Process.Signal(syscall.SIGTERM) // an already exited process is handled below
	f.mu.Unlock()
	select {
	case <-m.done:
		if code := m.cmd.ProcessState.ExitCode(); code != 0 {
			f.t.Errorf("worker %s was told to end: %s: %s", name, m.cmd.ProcessState, lastLine(f.log(name)))
		}
	case <-time.After(stopBound()):
		f.t.Errorf("worker %s does not end after SIGTERM: %s", name, lastLine(f.log(name)))
		_ = m.cmd.Process.Kill()
		<-m.done
	}
}

// freeze stops an instance's process without ending it: it keeps its state and receives nothing.
func (f *fleet) freeze(name string) bool { return f.signal(name, syscall.SIGSTOP, true) }

// thaw continues a frozen process, for which no time has passed.
func (f *fleet) thaw(name string) bool { return f.signal(name, syscall.SIGCONT, false) }

func (f *fleet) signal(name string, sig syscall.Signal, frozen bool) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	m := f.running[name]
	if m == nil || m.cmd.Process.Signal(sig) != nil {
		return false
	}
	m.frozen = frozen
	return true
}

// countLogLines counts the occurrences of a text in the logs of all workers.
func (f *fleet) countLogLines(text string) int {
	files := must.Get(filepath.Glob(f.log("*")))(f.t)
	n := 0
	for _, file := range files {
		log := must.Get(os.ReadFile(file))(f.t)
		n += strings.Count(string(log), text)
	}
	return n
}
