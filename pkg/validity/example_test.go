package validity_test

import (
	"fmt"

	"github.com/paulmach/orb"
	"github.com/switchback-geo/switchback/pkg/validity"
)

func ExampleValid() {
	bowTie := orb.Polygon{{{0, 0}, {2, 2}, {2, 0}, {0, 2}, {0, 0}}}
	fault := validity.Valid(bowTie)
	fmt.Println(fault, fault.At)
	// Output: ring_not_simple (/coordinates/0) [1 1]
}

func ExampleSimple() {
	fmt.Println(validity.Simple(orb.LineString{{0, 0}, {1, 0}, {1, 1}, {0, 0}}))
	// Output: <nil>
}
