package transform

import (
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/closed"
)

func TestLists_areClosed(t *testing.T) {
	closed.Check(t, closed.Of(Types()), closed.Of(OnErrors()), closed.Of(Unlisteds()), closed.Of(Unmappeds()),
		closed.Of(ArrayPolicies()), closed.Of(Validities()), closed.Of(Acceptances()), closed.Of(DeclaredCRSs()),
		closed.Of(Antimeridians()), closed.Of(Dimensions()), closed.Of(BBoxPolicies()), closed.Of(GeometryTypes()),
		closed.Of(Kinds()), closed.Of(Rules()), closed.Of(OutputValidities()), closed.Of(GateSets()))
}
