package dialects

import (
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/closed"
)

func TestLists_areClosed(t *testing.T) {
	closed.Check(t, closed.Of(Dialects()))
	for _, d := range Dialects() {
		if !d.Valid() {
			t.Errorf("%s is not valid", d)
		}
	}
}
