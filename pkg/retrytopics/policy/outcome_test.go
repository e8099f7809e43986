package policy

import (
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/closed"
)

func TestLists_areClosed(t *testing.T) {
	closed.Check(t, closed.Of(Outcomes()), closed.Of(Reasons()))
}
