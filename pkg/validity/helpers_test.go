package validity_test

import (
	"testing"

	"github.com/paulmach/orb"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/validity"
)

// judged is the verdict on validity; nothing ends the context of a test.
func judged(tb testing.TB, shape orb.Geometry) *validity.Fault {
	tb.Helper()
	return must.Get(validity.Valid(tb.Context(), shape))(tb)
}

// isSimple is the verdict on simplicity.
func isSimple(tb testing.TB, shape orb.Geometry) *validity.Fault {
	tb.Helper()
	return must.Get(validity.Simple(tb.Context(), shape))(tb)
}
