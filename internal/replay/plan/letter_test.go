package plan

import (
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/closed"
)

func TestLists_areClosed(t *testing.T) {
	t.Parallel()
	closed.Check(t, closed.Of(Actions()))
}
