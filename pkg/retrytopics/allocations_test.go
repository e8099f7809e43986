//go:build !race

// The race detector allocates on its own account, so allocations are counted without it.

package retrytopics

import (
	"strings"
	"testing"
)

func TestControlHeadersOfManyOutputsTakeHardlyAny(t *testing.T) {
	var s slab
	c := Control{Source: Position{"features", 3, 1042}, HasSource: true, Pipeline: "p", FeatureID: "p-1", ContentHash: strings.Repeat("0", 71)}
	const outputs = 1000
	if n := testing.AllocsPerRun(10, func() {
		for range outputs {
			s.write(nil, &c)
		}
	}); n > outputs/15 {
		t.Errorf("%v allocations for %d outputs", n, outputs)
	}
}

func TestControlHeadersOfAnOutputTakeTwoAllocations(t *testing.T) {
	c := Control{Source: Position{"features", 3, 1042}, HasSource: true, Pipeline: "p", FeatureID: "p-1", ContentHash: strings.Repeat("0", 71)}
	if n := testing.AllocsPerRun(100, func() { c.AppendTo(nil) }); n > 2 {
		t.Errorf("%v allocations, want 2", n)
	}
}
