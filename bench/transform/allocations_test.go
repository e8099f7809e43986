//go:build !race

// The race detector allocates on its own account, so allocations are counted without it.

package transform

import (
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

// TestRecord_allocations holds the bound that does not depend on the machine.
func TestRecord_allocations(t *testing.T) {
	testrun.Nightly(t)
	if n := testing.AllocsPerRun(100, whole(t)); n > 16 {
		t.Errorf("a record takes %v allocations, more than 16", n)
	} else {
		t.Logf("a record takes %v allocations", n)
	}
}
