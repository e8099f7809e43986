package crs_test

import (
	"math"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/pkg/crs"
)

func TestAxisOrder(t *testing.T) {
	// Lübeck in three systems, as the name says which coordinate comes first.
	for _, c := range []struct {
		from, to       string
		x, y, toX, toY float64
	}{
		{"EPSG:4326", "EPSG:25832", 10.6866, 53.8655, 610907.06, 5969875.82},
		{"urn:ogc:def:crs:EPSG::4326", "EPSG:25832", 53.8655, 10.6866, 610907.06, 5969875.82},
		{"urn:ogc:def:crs:EPSG::4326", "urn:ogc:def:crs:EPSG::25832", 53.8655, 10.6866, 610907.06, 5969875.82},
		{"OGC:CRS84", "EPSG:3035", 10.6866, 53.8655, 4366176.14, 3417803.40},
		{"OGC:CRS84", "http://www.opengis.net/def/crs/EPSG/0/3035", 10.6866, 53.8655, 3417803.40, 4366176.14},
		{"OGC:CRS84", "urn:ogc:def:crs:EPSG::4326", 10.6866, 53.8655, 53.8655, 10.6866},
		{"[EPSG:3035]", "EPSG:3035", 3417803.40, 4366176.14, 4366176.14, 3417803.40},
	} {
		x, y, err := mustTransform(t, c.from, c.to).Forward(c.x, c.y)
		expect.That(t, err == nil && math.Abs(x-c.toX) <= 0.01 && math.Abs(y-c.toY) <= 0.01, "%s to %s: %.2f, %.2f, %v; want %.2f, %.2f", c.from, c.to, x, y, err, c.toX, c.toY)
	}
}

func TestWithAxisOrder(t *testing.T) {
	yx := mustLookup(t, "urn:ogc:def:crs:EPSG::4326")
	xy := yx.WithAxisOrder(crs.AxisXY)
	expect.That(t, yx.AxisOrder() == crs.AxisYX && xy.AxisOrder() == crs.AxisXY && xy.Code() == "EPSG:4326", "got %s and %s", yx.AxisOrder(), xy.AxisOrder())
	expect.Equal(t, xy.WithAxisOrder("zyx").AxisOrder(), crs.AxisXY, "an unknown order")
}

// The bounds that the EPSG registry shows for some systems, to a kilometre.
func TestBounds(t *testing.T) {
	for code, want := range map[string]crs.Bounds{
		"EPSG:4258":  {MinX: -16.1, MinY: 33.26, MaxX: 38.01, MaxY: 84.73},
		"EPSG:3857":  {MinX: -20037508.34, MinY: -20048966.1, MaxX: 20037508.34, MaxY: 20048966.1},
		"EPSG:32632": {MinX: 166021.44, MinY: 0, MaxX: 833978.56, MaxY: 9329005.18},
		"EPSG:32733": {MinX: 166021.44, MinY: 1116915.04, MaxX: 833978.56, MaxY: 10000000},
		"EPSG:2056":  {MinX: 2485071.58, MinY: 1074261.72, MaxX: 2837119.8, MaxY: 1299941.79},
	} {
		got := mustLookup(t, code).Bounds()
		if math.Abs(got.MinX-want.MinX) > 1000 || math.Abs(got.MinY-want.MinY) > 1000 ||
			math.Abs(got.MaxX-want.MaxX) > 1000 || math.Abs(got.MaxY-want.MaxY) > 1000 {
			t.Errorf("%s: %+v, want %+v", code, got, want)
		}
	}
}

func TestDomain(t *testing.T) {
	for code, want := range map[string]crs.Bounds{
		"EPSG:4326":  {MinX: -180, MinY: -90, MaxX: 180, MaxY: 90},
		"EPSG:3857":  {MinX: -180, MinY: -85.06, MaxX: 180, MaxY: 85.06},
		"EPSG:32632": {MinX: -21, MinY: -85, MaxX: 39, MaxY: 85},
		"EPSG:32601": {MinX: 153, MinY: -85, MaxX: -147, MaxY: 85},
		"EPSG:25833": {MinX: -15, MinY: 25, MaxX: 45, MaxY: 87},
		"EPSG:2154":  {MinX: -14.86, MinY: 36.15, MaxX: 15.38, MaxY: 56.56},
	} {
		got := mustLookup(t, code).Domain()
		expect.That(t, math.Abs(got.MinX-want.MinX)+math.Abs(got.MinY-want.MinY)+math.Abs(got.MaxX-want.MaxX)+math.Abs(got.MaxY-want.MaxY) <= 1e-9, "%s: %+v, want %+v", code, got, want)
	}
}

// Every area of use lies in the domain, so that no legal coordinate is refused.
func TestDomain_holds_the_area_of_use(t *testing.T) {
	for _, code := range crs.Codes() {
		c := mustLookup(t, code)
		a, d := c.AreaOfUse(), c.Domain()
		expect.That(t, d.Contains(a.MinX, a.MinY) && d.Contains(a.MaxX, a.MaxY), "%s: area of use %+v is outside the domain %+v", code, a, d)
	}
}

func TestContains(t *testing.T) {
	for _, c := range []struct {
		code string
		x, y float64
		want bool
	}{
		{"EPSG:25832", 691875.63, 6098907.83, true},
		{"EPSG:25832", 12, 55, false},           // degrees
		{"EPSG:25832", 1e6, 6098907.83, false},  // zone 33
		{"EPSG:25832", 691875.63, 1e300, false}, //
		{"EPSG:25832", math.NaN(), 6e6, false},
		{"urn:ogc:def:crs:EPSG::4258", 55, 12, true},
		{"urn:ogc:def:crs:EPSG::4258", 12, 55, false},
		{"EPSG:4269", -75, 40, true},
		{"EPSG:4269", 175, 52, true}, // across the antimeridian
		{"EPSG:4269", 9, 52, false},
	} {
		expect.Equal(t, mustLookup(t, c.code).Contains(c.x, c.y), c.want, c.code, "contains", c.x, c.y)
	}
}
