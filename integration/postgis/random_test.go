package postgis

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/paulmach/orb"
	"github.com/switchback-geo/switchback/internal/testkit/rings"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/pkg/validity"
)

// randomPolygons draws n geometries, a Polygon where there is one polygon.
func randomPolygons(random rings.Random, n int) []orb.Geometry {
	shapes := make([]orb.Geometry, n)
	for i := range shapes {
		polygons := random.Polygons()
		if shapes[i] = polygons; len(polygons) == 1 {
			shapes[i] = polygons[0]
		}
	}
	return shapes
}

// deeper are the rules that are looked at only once no rings cross, and what
// PostGIS calls them. A geometry that breaks several of them may be reported for
// any.
func deeper() (rules []validity.Rule, reasons []string) {
	return []validity.Rule{validity.NestedRings, validity.HoleOutside, validity.InteriorDisconnected},
		[]string{"Holes are nested", "Hole lies outside shell", "Interior is disconnected", "Nested shells"}
}

// The verdicts are the same, all of them, and the rules are so where a geometry
// can break only one.
func TestPostGIS_S0_8_polygons_at_random(t *testing.T) {
	testrun.Proof(t)
	db := database(t)
	shapes := randomPolygons(rings.NewRandom(seed(t)), sized(t, 10_000))
	counts := map[string]int{}
	rules, reasons := deeper()
	for i, theirs := range ask(t, db, shapes) {
		fault := judged(t, shapes[i])
		if (fault == nil) != theirs.Valid {
			t.Errorf("%v, and PostGIS says %q: %v", fault, theirs.Reason, shapes[i])
			continue
		}
		if fault == nil {
			counts["both: valid"]++
			continue
		}
		counts[fmt.Sprintf("%s, PostGIS: %s", fault.Rule, theirs.Reason)]++
		if slices.Contains(rules, fault.Rule) && !slices.Contains(reasons, theirs.Reason) {
			t.Errorf("%v, but PostGIS knows something worse, %q: %v", fault, theirs.Reason, shapes[i])
		}
		if polygon, single := shapes[i].(orb.Polygon); single && len(polygon) == 1 &&
			fault.Rule != validity.RingNotSimple && fault.Rule != validity.OneDistinctPoint {
			t.Errorf("%v of a polygon of one ring: %v", fault, shapes[i])
		}
	}
	logCounts(t, counts)
}

func logCounts(t *testing.T, counts map[string]int) {
	t.Helper()
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		t.Logf("%6d  %s", counts[what], what)
	}
}

func TestPostGIS_S0_8_lines_at_random(t *testing.T) {
	testrun.Nightly(t)
	db := database(t)
	random := rings.NewRandom(seed(t))
	shapes := make([]orb.Geometry, 5_000)
	for i := range shapes {
		shapes[i] = random.Line()
	}
	counts := map[string]int{}
	for i, theirs := range ask(t, db, shapes) {
		valid, simple := judged(t, shapes[i]), isSimple(t, shapes[i])
		if (valid == nil) != theirs.Valid || (simple == nil) != theirs.Simple {
			t.Errorf("%v, %v, and PostGIS says valid %v, simple %v: %v", valid, simple, theirs.Valid, theirs.Simple, shapes[i])
		}
		counts[fmt.Sprintf("both: valid %v, simple %v", theirs.Valid, theirs.Simple)]++
	}
	logCounts(t, counts)
}

// Shapes that are hard for methods that compare boxes are easy to get wrong in a
// sweep: many edges at one longitude, long edges side by side.
func TestPostGIS_S0_8_hostile_shapes(t *testing.T) {
	testrun.Nightly(t)
	db := database(t)
	var shapes []orb.Geometry
	for _, shape := range rings.Shapes() {
		ring := shape.Ring(1_000)
		broken := ring.Clone()
		broken[len(ring)/3], broken[len(ring)/3+1] = broken[len(ring)/3+1], broken[len(ring)/3]
		shapes = append(shapes, orb.Polygon{ring}, orb.Polygon{broken})
	}
	for i, theirs := range ask(t, db, shapes) {
		if fault := judged(t, shapes[i]); (fault == nil) != theirs.Valid {
			t.Errorf("shape %s, broken %v: %v, and PostGIS says %q", rings.Shapes()[i/2].Name, i%2 == 1, fault, theirs.Reason)
		}
	}
}
