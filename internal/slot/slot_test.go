//go:build linux

package slot_test

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/slot"
)

func take(t *testing.T, group string) *slot.Slot {
	t.Helper()
	s, err := slot.Take(group, "host")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Release() })
	return s
}

// Each process has a name of its own, and the one that comes back has the name that became free.
func TestTake_S3_1_names(t *testing.T) {
	group := t.Name() + "/" + strings.Repeat("long", 60)
	first, second := take(t, group), take(t, group)
	if first.Name != "host" || second.Name != "host-2" || second.Taken != 1 {
		t.Errorf("got %s and %s", first.Name, second.Name)
	}
	if other := take(t, "another group"); other.Name != "host" {
		t.Errorf("another group got %s", other.Name)
	}
	if err := first.Release(); err != nil {
		t.Fatal(err)
	}
	if again := take(t, group); again.Name != "host" {
		t.Errorf("after the first ended: %s", again.Name)
	}
	if third := take(t, group); third.Name != "host-3" {
		t.Errorf("beside two: %s", third.Name)
	}
}

func TestTake_S3_1_full(t *testing.T) {
	for range slot.Most {
		take(t, t.Name())
	}
	_, err := slot.Take(t.Name(), "host")
	full, is := errors.AsType[*slot.FullError](err)
	if !is || !strings.Contains(full.Error(), "--instance") || !strings.Contains(full.Error(), "host-64") {
		t.Errorf("got %v", err)
	}
}

const childEnv = "SLOT_TEST_GROUP"

// A process that is killed leaves its slot free at once: its successor has its name.
func TestTake_S3_1_ofAKilledProcess(t *testing.T) {
	if group := os.Getenv(childEnv); group != "" {
		take(t, group)
		_, _ = os.Stdout.WriteString("taken\n")
		select {} // until it is killed
	}
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^"+t.Name()+"$")
	child.Env = append(os.Environ(), childEnv+"="+t.Name())
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	said := make([]byte, 6)
	if _, err := out.Read(said); err != nil || string(said) != "taken\n" {
		t.Fatalf("the child said %q, %v", said, err)
	}
	beside := take(t, t.Name())
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait() // killed
	if after := take(t, t.Name()); beside.Name != "host-2" || after.Name != "host" {
		t.Errorf("beside it %s, after it %s", beside.Name, after.Name)
	}
}
