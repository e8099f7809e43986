package proc

import (
	"errors"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

func needShell(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("no POSIX shell on this machine: a leash cannot be made")
	}
}

// sleeper starts a process that would run for a minute and reports its end.
func sleeper(t *testing.T) (*exec.Cmd, <-chan error) {
	t.Helper()
	needShell(t)
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd, ended
}

func TestLeash(t *testing.T) {
	t.Run("kills_when_its_holder_is_gone", func(t *testing.T) {
		cmd, ended := sleeper(t)
		leash, err := NewLeash(cmd.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		_ = leash.pipe.Close() // what the operating system does at the holder's end
		select {
		case err := <-ended:
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
				t.Errorf("ended with %v, want killed", err)
			}
		case <-time.After(testrun.Patient(10 * time.Second)):
			t.Error("the process lives on")
		}
		_ = leash.shell.Wait()
	})
	t.Run("leaves_a_released_process_alone", func(t *testing.T) {
		cmd, ended := sleeper(t)
		leash, err := NewLeash(cmd.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		leash.Release()
		if err := cmd.Process.Signal(syscall.Signal(0)); err != nil {
			t.Errorf("the process is gone: %v", err)
		}
		select {
		case err := <-ended:
			t.Errorf("the process ended: %v", err)
		default:
		}
	})
}

func TestProcess(t *testing.T) {
	needShell(t)
	sh := func(script string) Spec { return Spec{Path: "/bin/sh", Args: []string{"-c", script}} }
	t.Run("captures_output_and_code", func(t *testing.T) {
		r := Run(t.Context(), t, sh("echo out; echo err >&2; exit 3"))
		if r.Code != 3 || r.Stdout != "out\n" || r.Stderr != "err\n" {
			t.Errorf("got %s", r)
		}
	})
	t.Run("kill_says_whether_it_killed", func(t *testing.T) {
		if p := Start(t, sh("exec sleep 60")); !p.Kill() {
			t.Error("a running process was not reported as killed")
		}
		p := Start(t, sh("exit 0"))
		<-p.Done()
		if p.Kill() {
			t.Error("an ended process was reported as killed")
		}
	})
	t.Run("hides_the_overriding_variables", func(t *testing.T) {
		t.Setenv("SWITCHBACK_KAFKA_BROKERS", "elsewhere:9092")
		if r := Run(t.Context(), t, sh("env")); strings.Contains(r.Stdout, "elsewhere") {
			t.Errorf("the environment leaks: %s", r.Stdout)
		}
	})
}
