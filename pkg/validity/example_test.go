package validity_test

import (
	"context"
	"fmt"

	"github.com/paulmach/orb"
	"github.com/switchback-geo/switchback/pkg/validity"
)

func ExampleValid() {
	bowTie := orb.Polygon{{{0, 0}, {2, 2}, {2, 0}, {0, 2}, {0, 0}}}
	fault, err := validity.Valid(context.Background(), bowTie)
	fmt.Println(fault, fault.At, err)
	// Output: ring_not_simple (/coordinates/0) [1 1] <nil>
}

func ExampleSimple() {
	fmt.Println(validity.Simple(context.Background(), orb.LineString{{0, 0}, {1, 0}, {1, 1}, {0, 0}}))
	// Output: <nil> <nil>
}
