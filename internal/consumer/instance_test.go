//go:build linux

package consumer_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/consumer"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

func takeName(t *testing.T, group string) *consumer.InstanceName {
	t.Helper()
	s := must.Get(consumer.ReserveInstance(group, "host"))(t)
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
	must.Do(t, first.Release())
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
