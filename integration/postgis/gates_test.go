package postgis

import (
	"math"
	"testing"

	"github.com/paulmach/orb"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/rings"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// plane is a system in which every place that is drawn here is one.
const plane = "EPSG:3857"

// apply runs records through the gates and the mapping, and returns what passed
// with the geometry that it was before.
func apply(t *testing.T, rules transform.GeometryRules, shapes []orb.Geometry) (before, after []orb.Geometry) {
	t.Helper()
	rules.SourceCRS, rules.TargetCRS = plane, plane
	transformer, err := transform.New(transform.Config{Geometry: rules})
	must.That(t, err == nil, "%v", err)
	for _, shape := range shapes {
		record, err := transformer.Encode(&transform.Feature{Geometry: transform.Geometry{Shape: shape}})
		must.That(t, err == nil, "%v", err)
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
