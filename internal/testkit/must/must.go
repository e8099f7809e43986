package must

import (
	"fmt"
	"testing"
)

// Do ends the test if err is not nil.
func Do(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Get returns a function that ends the test if err is not nil, and otherwise returns the value:
//
//	cfg := must.Get(config.Load(path))(t)
func Get[T any](value T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

// That ends the test with the message unless ok is true. The arguments of the message are always evaluated.
func That(t testing.TB, ok bool, format string, args ...any) {
	t.Helper()
	if !ok {
		t.Fatalf(format, args...)
	}
}

// Equal ends the test unless got is want. The message begins with of, a description of the value.
func Equal[T comparable](t testing.TB, got, want T, of ...any) {
	t.Helper()
	if got != want {
		t.Fatalf("%sgot %+v, want %+v", fmt.Sprintln(of...), got, want)
	}
}
