package outage_test

import (
	"testing"

	"github.com/switchback-geo/switchback/internal/outage"
	"github.com/switchback-geo/switchback/internal/testkit/closed"
)

func TestLists_areClosed(t *testing.T) { closed.Check(t, closed.Of(outage.Circuits())) }
