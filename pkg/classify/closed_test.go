package classify

import (
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/closed"
)

func TestLists_areClosed(t *testing.T) {
	closed.Check(t, closed.Of(Classes()), closed.Of(Levels()), closed.Of(Stages()), closed.Of(Codes()),
		closed.Of(Categories()), closed.Of(Alerts()))
}

// TestCodesAreLabels proves that a code can be a metric label as it is.
func TestCodesAreLabels(t *testing.T) {
	for _, c := range Codes() {
		if c == "" || strings.Trim(string(c), "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
			t.Errorf("%q has other characters than small letters, digits and underscore", c)
		}
	}
}
