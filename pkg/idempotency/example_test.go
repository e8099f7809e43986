package idempotency_test

import (
	"fmt"

	"github.com/switchback-geo/switchback/pkg/idempotency"
)

// Two texts of one content have one hash.
func ExampleCanonical() {
	first, _ := idempotency.Canonical([]byte(`{"name": "Vaduz", "population": 5.7e3}`))
	second, _ := idempotency.Canonical([]byte(`{"population":5700,"name":"Vaduz"}`))
	fmt.Println(string(first))
	fmt.Println(idempotency.Of(first) == idempotency.Of(second))
	// Output:
	// {"name":"Vaduz","population":5700}
	// true
}
