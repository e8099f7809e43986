package proc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"
)

// Spec describes how to start a command. Env is added to the test's own environment, without the variables that would
// change the command's behaviour.
type Spec struct {
	Path string
	Args []string
	Env  []string
	Dir  string
}

// Process is a started command. Its methods may be called from several goroutines. None of them blocks without a bound.
type Process struct {
	Stdout, Stderr *Output

	name  string
	cmd   *exec.Cmd
	leash *Leash
	done  chan struct{} // closed when the process has been reaped
	err   error         // valid once done is closed
}

// Result is the result of a command. Code is -1 for a process that was ended by a signal, as in
// os.ProcessState.ExitCode.
type Result struct {
	Code           int
	Stdout, Stderr string
}

// Start starts a command and fails the test if that fails. The test's cleanup kills a running process; a failed test
// shows the output.
func Start(t testing.TB, spec Spec) *Process {
	t.Helper()
	cmd := exec.Command(spec.Path, spec.Args...)
	cmd.Dir = spec.Dir
	cmd.Env = append(cleanEnv(os.Environ()), spec.Env...)
	p := &Process{
		name: strings.Join(append([]string{cmd.Path}, spec.Args...), " "), cmd: cmd,
		Stdout: newOutput(), Stderr: newOutput(), done: make(chan struct{}),
	}
	cmd.Stdout, cmd.Stderr = p.Stdout, p.Stderr
	cmd.WaitDelay = 2 * time.Second // for a child of the command that keeps its output open
	detach(cmd)
	if err := cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", p.name, err)
	}
	leash, err := NewLeash(cmd.Process.Pid)
	if err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		t.Fatalf("start %s: %v", p.name, err)
	}
	p.leash = leash
	go p.reap()
	t.Cleanup(func() { p.cleanup(t) })
	return p
}

// cleanEnv drops the variables that override keys of a pipeline file, and CI, which limits the attempts. Only the test's
// file must configure the command.
func cleanEnv(env []string) []string {
	kept := make([]string, 0, len(env))
	for _, pair := range env {
		if !strings.HasPrefix(pair, "SWITCHBACK_") && !strings.HasPrefix(pair, "KAFKA_") && !strings.HasPrefix(pair, "CI=") {
			kept = append(kept, pair)
		}
	}
	return kept
}

func (p *Process) reap() {
	p.err = p.cmd.Wait()
	p.leash.Release()
	p.Stdout.end()
	p.Stderr.end()
	close(p.done)
}

func (p *Process) cleanup(t testing.TB) {
	_ = p.cmd.Process.Kill() // an already exited process is fine
	<-p.done
	if t.Failed() {
		t.Logf("%s (%s)\nstdout:\n%s\nstderr:\n%s", p.name, p.cmd.ProcessState, p.Stdout.Tail(4096), p.Stderr.Tail(16384))
	}
}

// Pid returns the process ID.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Done is closed once the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Signal sends a signal and fails the test if the process has already exited.
func (p *Process) Signal(t testing.TB, sig os.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(sig); err != nil {
		t.Fatalf("signal %v to %s: %v", sig, p.name, err)
	}
}

// Kill ends the process with SIGKILL and waits for its exit. It reports whether the process was still running, so that a
// crash test can prove that it killed something.
func (p *Process) Kill() (wasRunning bool) {
	err := p.cmd.Process.Kill()
	<-p.done
	return err == nil && p.cmd.ProcessState.ExitCode() == -1
}

// Wait returns the result once the process has ended. It fails the test if the context ends first.
func (p *Process) Wait(ctx context.Context, t testing.TB) Result {
	t.Helper()
	select {
	case <-p.done:
	case <-ctx.Done():
		t.Fatalf("waited for the end of %s: %v", p.name, ctx.Err())
	}
	var exit *exec.ExitError
	if p.err != nil && !errors.As(p.err, &exit) {
		t.Fatalf("%s: %v", p.name, p.err)
	}
	return Result{Code: p.cmd.ProcessState.ExitCode(), Stdout: p.Stdout.String(), Stderr: p.Stderr.String()}
}

// WaitFor returns once the output matches the pattern, with the submatches. It fails the test if the process or the
// context ends first.
func (p *Process) WaitFor(ctx context.Context, t testing.TB, out *Output, pattern *regexp.Regexp) []string {
	t.Helper()
	match, err := out.match(ctx, pattern)
	if err != nil {
		t.Fatalf("waited for %q in the output of %s: %v", pattern, p.name, err)
	}
	return match
}

// Run starts a command and waits for its end.
func Run(ctx context.Context, t testing.TB, spec Spec) Result {
	t.Helper()
	return Start(t, spec).Wait(ctx, t)
}

// String formats a result for a failure message.
func (r Result) String() string {
	return fmt.Sprintf("exit code %d\nstdout:\n%s\nstderr:\n%s", r.Code, r.Stdout, r.Stderr)
}
