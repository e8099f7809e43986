//go:build linux

package consumer_test

import (
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/consumer"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

func takeName(t *testing.T, group string) *consumer.InstanceName {
	t.Helper()
	s := must.Get(consumer.ReserveInstance(group, "host"))(t)
	t.Cleanup(func() { _ = s.Release() })
	return s
}

// Each process has its own name. A later process reuses a name that became free.
func TestReserveInstance_S3_1_names(t *testing.T) {
	group := t.Name() + "/" + strings.Repeat("long", 60)
	first, second := takeName(t, group), takeName(t, group)
	expect.That(t, first.Name == "host" && second.Name == "host-2" && second.Taken == 1, "got %s and %s", first.Name, second.Name)
	expect.Equal(t, takeName(t, "another group").Name, "host", "name in another group")
	must.Do(t, first.Release())
	expect.Equal(t, takeName(t, group).Name, "host", "name after the first one was released")
	expect.Equal(t, takeName(t, group).Name, "host-3", "name of the third instance")
}

func TestReserveInstance_S3_1_full(t *testing.T) {
	for range consumer.MostInstances {
		takeName(t, t.Name())
	}
	_, err := consumer.ReserveInstance(t.Name(), "host")
	expect.That(t, err != nil && strings.Contains(err.Error(), "--instance") && strings.Contains(err.Error(), "host-64"), "got %v", err)
}
