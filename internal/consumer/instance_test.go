//go:build linux

package consumer_test

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/consumer"
)

func takeName(t *testing.T, group string) *consumer.InstanceName {
	t.Helper()
	s, err := consumer.ReserveInstance(group, "host")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Release() })
	return s
}

// Each process has its own name, and one that comes back has the name that became free.
func TestReserveInstance_S3_1_names(t *testing.T) {
	group := t.Name() + "/" + strings.Repeat("long", 60)
	first, second := takeName(t, group), takeName(t, group)
	if first.Name != "host" || second.Name != "host-2" || second.Taken != 1 {
		t.Errorf("got %s and %s", first.Name, second.Name)
	}
	if other := takeName(t, "another group"); other.Name != "host" {
		t.Errorf("another group got %s", other.Name)
	}
	if err := first.Release(); err != nil {
		t.Fatal(err)
	}
	if again := takeName(t, group); again.Name != "host" {
		t.Errorf("after the first ended: %s", again.Name)
	}
	if third := takeName(t, group); third.Name != "host-3" {
		t.Errorf("beside two: %s", third.Name)
	}
}

func TestReserveInstance_S3_1_full(t *testing.T) {
	for range consumer.MostInstances {
		takeName(t, t.Name())
	}
	_, err := consumer.ReserveInstance(t.Name(), "host")
	full, is := errors.AsType[*consumer.NoFreeNameError](err)
	if !is || !strings.Contains(full.Error(), "--instance") || !strings.Contains(full.Error(), "host-64") {
		t.Errorf("got %v", err)
	}
}

const childEnv = "INSTANCE_TEST_GROUP"

// A killed process frees its name at once: its successor has it.
func TestReserveInstance_S3_1_ofAKilledProcess(t *testing.T) {
	if group := os.Getenv(childEnv); group != "" {
		takeName(t, group)
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
	beside := takeName(t, t.Name())
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait() // killed
	if after := takeName(t, t.Name()); beside.Name != "host-2" || after.Name != "host" {
		t.Errorf("beside it %s, after it %s", beside.Name, after.Name)
	}
}
