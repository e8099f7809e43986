package crs

import (
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/closed"
)

func TestLists_areClosed(t *testing.T) {
	closed.Check(t, closed.Of(AxisOrders()), closed.Of(Units()), closed.Of(Reasons()), closed.Of(Outsides()))
}
