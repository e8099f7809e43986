package postgis

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/paulmach/orb"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/rings"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/pkg/transform"
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

// plane is a system in which every place that is drawn here is one.
const plane = "EPSG:3857"

// apply runs records through the gates and the mapping, and returns what passed
// with the geometry that it was before.
func apply(t *testing.T, rules transform.GeometryRules, shapes []orb.Geometry) (before, after []orb.Geometry) {
	t.Helper()
	rules.SourceCRS, rules.TargetCRS = plane, plane
	transformer := must.Get(transform.New(transform.Config{Geometry: rules}))(t)
	for _, shape := range shapes {
		record := must.Get(transformer.Encode(&transform.Feature{Geometry: transform.Geometry{Shape: shape}}))(t)
		if out, err := transformer.Apply(t.Context(), record); err == nil {
			before, after = append(before, shape), append(after, out.Geometry.Shape)
		}
	}
	return before, after
}

// What passes the gates has its rings wound as RFC 7946 wants them, and is else
// the same.
func TestPostGIS_S0_8_rings_are_wound(t *testing.T) {
	testrun.Proof(t)
	db := database(t)
	before, after := apply(t, transform.GeometryRules{}, randomPolygons(rings.NewRandom(seed(t)), 2_000))
	was, is := ask(t, db, before), ask(t, db, after)
	turned := 0
	for i := range is {
		if !is[i].CCW || !is[i].Valid || !sameArea(is[i].Area, was[i].Area) {
			t.Errorf("%v became %v: wound right %v, valid %v, area %v before and %v after", before[i], after[i], is[i].CCW, is[i].Valid, was[i].Area, is[i].Area)
		}
		if !was[i].CCW {
			turned++
		}
	}
	t.Logf("%d passed, of which %d were wound otherwise before", len(is), turned)
	expect.That(t, turned >= len(is)/4 && len(is) >= 200, "that proves nothing")
}

// What the gates repair is valid, and a ring that meets itself becomes what
// ST_MakeValid makes of it.
func TestPostGIS_S0_8_repairs(t *testing.T) {
	testrun.Proof(t)
	db := database(t)
	before, after := apply(t, transform.GeometryRules{Validity: transform.ValidityRepair}, randomPolygons(rings.NewRandom(seed(t)), 2_000))
	was, is := ask(t, db, before), ask(t, db, after)
	repaired, compared := 0, 0
	for i := range is {
		if !is[i].Valid || !is[i].CCW {
			t.Errorf("%v became %v, which PostGIS calls %q; wound right %v", before[i], after[i], is[i].Reason, is[i].CCW)
		}
		if was[i].Valid {
			continue
		}
		repaired++
		if polygon, single := before[i].(orb.Polygon); single && len(polygon) == 1 {
			compared++
			if made := madeValid(t, db, before[i]); !sameArea(made, is[i].Area) {
				t.Errorf("%v has the area %v after the repair, and %v after ST_MakeValid", before[i], is[i].Area, made)
			}
		}
	}
	t.Logf("%d repaired, %d compared with ST_MakeValid", repaired, compared)
	expect.That(t, compared >= 20, "that proves nothing")
}

// sameArea allows for rounding, which depends on where a sum begins.
func sameArea(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Max(1, math.Abs(a)) }
