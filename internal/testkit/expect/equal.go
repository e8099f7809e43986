package expect

import (
	"fmt"
	"strings"
	"testing"
)

// Equal fails the test unless got is want. The message begins with of, a description of the value.
func Equal[T comparable](t testing.TB, got, want T, of ...any) {
	t.Helper()
	if got != want {
		t.Errorf("%sgot  %+v\nwant %+v", before(of), got, want)
	}
}

// Do fails the test if err is not nil. The message begins with of, a description of the step.
func Do(t testing.TB, err error, of ...any) {
	t.Helper()
	if err != nil {
		t.Errorf("%s%v", before(of), err)
	}
}

// before returns the beginning of a message.
func before(of []any) string {
	if len(of) == 0 {
		return ""
	}
	return strings.TrimSuffix(fmt.Sprintln(of...), "\n") + ": "
}
