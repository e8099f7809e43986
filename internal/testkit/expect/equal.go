package expect

import (
	"fmt"
	"strings"
	"testing"
)

// Equal fails the test unless got is want. What it is of stands before both in the message.
func Equal[T comparable](t testing.TB, got, want T, of ...any) {
	t.Helper()
	if got != want {
		t.Errorf("%sgot  %+v\nwant %+v", before(of), got, want)
	}
}

// Do fails the test if err is not nil. What failed stands before it in the message.
func Do(t testing.TB, err error, of ...any) {
	t.Helper()
	if err != nil {
		t.Errorf("%s%v", before(of), err)
	}
}

// before is what a message begins with.
func before(of []any) string {
	if len(of) == 0 {
		return ""
	}
	return strings.TrimSuffix(fmt.Sprintln(of...), "\n") + ": "
}
