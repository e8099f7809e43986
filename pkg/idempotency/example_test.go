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

// A 64-bit id beyond 2^53 keeps its last digit.
func ExampleCanonical_integers() {
	form, _ := idempotency.Canonical([]byte(`{"id": 9007199254740993}`))
	fmt.Println(string(form))
	// Output: {"id":9007199254740993}
}

func ExampleOf() {
	hash := idempotency.Of([]byte("parcel-17"), []byte(`{"area":12}`))
	again, err := idempotency.Parse(hash.String())
	fmt.Println(again == hash, err)
	// Output: true <nil>
}
