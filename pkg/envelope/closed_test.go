package envelope

import (
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/closed"
)

func TestLists_areClosed(t *testing.T) {
	closed.Check(t, closed.Of(Formats()), closed.Of(Splits()), closed.Of(Unsupporteds()), closed.Of(Serializations()), closed.Of(GeometryFormats()), closed.Of(Rules()))
}
