package demo

import (
	"sync"
	"testing"

	"github.com/paulmach/orb"

	"github.com/switchback-geo/switchback/examples"
)

// readGazetteer is made once for all tests of the package: reading the counties takes a moment.
var readGazetteer = sync.OnceValues(newGazetteer) //nolint:gochecknoglobals // only read once made

func testGazetteer(t testing.TB) *gazetteer {
	t.Helper()
	g, err := readGazetteer()
	if err != nil {
		t.Fatal(err)
	}
	return g
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
		if !ok || place.Name != c.want || (place.DistanceKM == 0) != c.inside {
			t.Errorf("%s: %+v, %v, want %s", c.id, place, ok, c.want)
		}
	}
	if _, ok := g.ByID("nowhere"); ok {
		t.Error("an unknown id has a place")
	}
}

func TestGazetteer_embedded_features_have_a_place(t *testing.T) {
	g := testGazetteer(t)
	inside, n := 0, 0
	for f, err := range examples.Earthquakes() {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n%5 != 0 { // the search takes its time under the race detector
			continue
		}
		place, ok := g.ByID(f.ID)
		if !ok || place.County == "" || place.State == "" || place.DistanceKM < 0 || place.DistanceKM > 20_100 {
			t.Fatalf("%s: %+v, %v", f.ID, place, ok)
		}
		if place.DistanceKM == 0 {
			inside++
		}
	}
	if inside < 100 {
		t.Errorf("only %d of 341 earthquakes lie in a county; most of the feed is in California, Nevada and Alaska", inside)
	}
	for f, err := range examples.Counties() {
		if err != nil {
			t.Fatal(err)
		}
		if place, ok := g.ByID(f.ID); !ok || place.CountyID != f.ID {
			t.Fatalf("%s: %+v, %v", f.ID, place, ok)
		}
	}
}

func BenchmarkGazetteer_far_from_any_county(b *testing.B) {
	g := testGazetteer(b)
	for b.Loop() {
		g.At(orb.Point{140, -5})
	}
}
