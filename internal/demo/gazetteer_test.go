package demo

import (
	"sync"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// readGazetteer is made once for all tests of the package: reading the counties takes a moment.
var readGazetteer = sync.OnceValues(newGazetteer) //nolint:gochecknoglobals // only read once made

func testGazetteer(t testing.TB) *gazetteer {
	t.Helper()
	return must.Get(readGazetteer())(t)
}

func TestGazetteer_knows_real_places(t *testing.T) {
	g := testGazetteer(t)
	for _, c := range []struct {
		id, want string
		inside   bool
	}{
		{"04015", "Mohave, Arizona", true},
		{"ci37868143", "Los Angeles, California", true}, // USGS: 4km W of Castaic, CA
		{"us1000chda", "Guam, Guam", false},             // USGS: 122km W of Kota Ternate, Indonesia
	} {
		place, ok := g.ByID(c.id)
		expect.That(t, ok && place.Name == c.want && (place.DistanceKM == 0) == c.inside, "%s: %+v, %v, want %s", c.id, place, ok, c.want)
	}
	_, ok := g.ByID("nowhere")
	expect.That(t, !ok, "an unknown id has a place")
}
