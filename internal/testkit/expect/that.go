package expect

import "testing"

// That fails the test with the message unless ok is true. The arguments of the message are always evaluated.
func That(t testing.TB, ok bool, format string, args ...any) {
	t.Helper()
	if !ok {
		t.Errorf(format, args...)
	}
}
