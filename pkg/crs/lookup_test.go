package crs_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/crs"
)

func TestLookup(t *testing.T) {
	const xy, yx = crs.AxisXY, crs.AxisYX
	for _, c := range []struct {
		name, code string
		order      crs.AxisOrder
	}{
		{"EPSG:4326", "EPSG:4326", xy},
		{"epsg:4326", "EPSG:4326", xy},
		{" EPSG:25832\n", "EPSG:25832", xy},
		{"urn:ogc:def:crs:EPSG::4326", "EPSG:4326", yx},
		{"URN:OGC:DEF:CRS:EPSG:9.9.1:4326", "EPSG:4326", yx},
		{"urn:x-ogc:def:crs:EPSG:6.6:4326", "EPSG:4326", yx},
		{"http://www.opengis.net/def/crs/EPSG/0/4326", "EPSG:4326", yx},
		{"https://www.opengis.net/def/crs/EPSG/0/4258", "EPSG:4258", yx},
		{"[EPSG:4269]", "EPSG:4269", yx},
		{"urn:ogc:def:crs:EPSG::3035", "EPSG:3035", yx},
		{"EPSG:3035", "EPSG:3035", xy},
		{"urn:ogc:def:crs:EPSG::25832", "EPSG:25832", xy},
		{"http://www.opengis.net/def/crs/EPSG/0/25832", "EPSG:25832", xy},
		{"[EPSG:3857]", "EPSG:3857", xy},
		{"OGC:CRS84", "OGC:CRS84", xy},
		{"CRS84", "OGC:CRS84", xy},
		{"urn:ogc:def:crs:OGC:1.3:CRS84", "OGC:CRS84", xy},
		{"urn:ogc:def:crs:OGC::CRS84", "OGC:CRS84", xy},
		{"http://www.opengis.net/def/crs/OGC/1.3/CRS84", "OGC:CRS84", xy},
	} {
		got, err := crs.Lookup(c.name)
		if err != nil {
			t.Errorf("%q: %v", c.name, err)
		} else if got.Code() != c.code || got.AxisOrder() != c.order || got.String() != c.code {
			t.Errorf("%q is %s in the order %s, want %s, %s", c.name, got.Code(), got.AxisOrder(), c.code, c.order)
		}
	}
}

// An unknown name is an error and never taken for another name (S1-4).
func TestLookup_unknown(t *testing.T) {
	for _, name := range []string{
		"", " ", "EPSG", "EPSG:", ":4326", "4326", "EPSG:04326", "EPSG:+4326", "EPSG:-4326", "EPSG:4326 foo", "EPSG:4979", "EPSG:900913",
		"EPSG:25827", "EPSG:25839", "EPSG:26909", "EPSG:26920", "EPSG:32600", "EPSG:32662", "EPSG:32700", "EPSG:32762", "EPSG:4179",
		"EPSG:99999999999999999999", "EPSG:CRS84", "OGC:4326", "OGC:CRS83", "ESRI:102100", "[EPSG:4326", "[]", "[4326]",
		"urn:ogc:def:crs:EPSG:4326", "urn:ogc:def:crs:EPSG::4326:1", "urn:ogc:def:crs:EPSG::", "urn:ogc:def:crs",
		"http://www.opengis.net/def/crs/EPSG/0/", "http://example.org/def/crs/EPSG/0/4326", "WGS84", strings.Repeat("x", 500),
	} {
		c, err := crs.Lookup(name)
		var unknown *crs.UnknownError
		if c != nil || !errors.As(err, &unknown) {
			t.Errorf("%q gives %v, %v", name, c, err)
			continue
		}
		expect.That(t, unknown.Name == name, "%q: error has the name %q", name, unknown.Name)
		expect.That(t, len(err.Error()) <= 600, "%q: the message has %d bytes", name, len(err.Error()))
	}
}

// The list is complete, and Lookup finds every code of it in each form.
func TestCodes(t *testing.T) {
	codes := crs.Codes()
	known := 0
	for code := range 100000 {
		if c, err := crs.EPSG(code); err == nil {
			known++
			expect.That(t, slices.Contains(codes, c.Code()), "%s is known and not listed", c)
		}
	}
	if known != len(codes)-1 { // OGC:CRS84
		t.Errorf("%d codes are known, %d are listed", known, len(codes)-1)
	}
	for _, code := range codes {
		authority, number, _ := strings.Cut(code, ":")
		for _, name := range []string{
			code, "[" + code + "]", "urn:ogc:def:crs:" + authority + "::" + number,
			"http://www.opengis.net/def/crs/" + authority + "/0/" + number,
		} {
			c, err := crs.Lookup(name)
			if err != nil || c.Code() != code {
				t.Errorf("%s is %v, %v", name, c, err)
			} else if name != code && c.AxisOrder() != c.AuthorityAxisOrder() {
				t.Errorf("%s has the order %s, the authority's is %s", name, c.AxisOrder(), c.AuthorityAxisOrder())
			}
		}
	}
}

func TestGuess(t *testing.T) {
	for _, c := range []struct {
		name string
		x, y float64
		want []string // texts of the first candidates, in their order
	}{
		{"degrees", 12, 55, []string{"EPSG:4326, OGC:CRS84 (longitude and latitude)"}},
		{"latitude_first", 55, 120, []string{"EPSG:4326 (longitude and latitude, latitude first)"}},
		{"utm", 691875.63, 6098907.83, []string{
			"EPSG:2154 (RGF93 v1 / Lambert-93)", "EPSG:25828-25836 (ETRS89 / UTM north)", "EPSG:26910-26919 (NAD83 / UTM north)",
			"EPSG:32601-32660 (WGS 84 / UTM north)", "EPSG:32701-32760 (WGS 84 / UTM south)",
			"EPSG:3857 (WGS 84 / Pseudo-Mercator)",
		}},
		{"swiss", 2600000, 1200000, []string{
			"EPSG:2056 (CH1903+ / LV95)", "EPSG:3035 (ETRS89-extended / LAEA Europe)",
			"EPSG:5070 (NAD83 / Conus Albers)", "EPSG:3857 (WGS 84 / Pseudo-Mercator)",
		}},
		{"british", 530000, 180000, []string{
			"EPSG:27700 (OSGB36 / British National Grid)", "EPSG:5070 (NAD83 / Conus Albers)",
			"EPSG:32601-32660 (WGS 84 / UTM north)", "EPSG:3857 (WGS 84 / Pseudo-Mercator)",
		}},
		{"longitude_from_0_to_360", 351.2, 51, nil},
		{"nothing", 1e9, 1e9, nil},
		{"no_number", math.NaN(), 1, nil},
		{"infinite", math.Inf(1), math.Inf(-1), nil},
	} {
		var got []string
		for _, candidate := range crs.Guess(c.x, c.y) {
			got = append(got, candidate.String())
		}
		expect.That(t, (c.want != nil || len(got) == 0) && len(got) >= len(c.want) && slices.Equal(got[:len(c.want)], c.want), "%v: got  %q\nwant %q first", c.name, got, c.want)
	}
}

// Each point in the area of use of a projected system has this system among its candidates.
func TestGuess_names_the_system_that_it_was(t *testing.T) {
	for _, set := range readVectors(t) {
		if mustLookup(t, set.Code).Unit() == crs.Degree {
			continue
		}
		for _, p := range set.Points[:5] {
			if math.Abs(p[2]) < 360 && math.Abs(p[3]) < 90 {
				continue
			}
			found := false
			for _, candidate := range crs.Guess(p[2], p[3]) {
				found = found || slices.Contains(candidate.Codes, set.Code)
			}
			if !found {
				// The edge of the area in WGS 84 differs slightly from that in another datum.
				c := mustLookup(t, set.Code)
				expect.That(t, !c.Contains(p[2], p[3]), "%s does not recognise %v", set.Code, p)
			}
		}
	}
}

// The error names the systems that a mistyped, withdrawn or neighbouring code may mean.
func TestLookup_namesTheNearest(t *testing.T) {
	for name, first := range map[string]string{
		"EPSG:3785": "EPSG:3857 (WGS 84 / Pseudo-Mercator); docs", "urn:ogc:def:crs:EPSG::4979": "EPSG:4326 (WGS 84); docs", "ESRI:102100": "EPSG:3857 (",
		"EPSG:7415": "EPSG:28992 (", "EPSG:2583": "EPSG:25830 (", "EPSG:225832": "EPSG:25832 (", "EPSG:52832": "EPSG:25832 (", "32762": "EPSG:32761 (",
	} {
		_, err := crs.Lookup(name)
		expect.That(t, err != nil && strings.Contains(err.Error(), "the nearest that are supported: "+first), "%s: %v, want %s first", name, err, first)
	}
	_, err := crs.Lookup("LV95")
	expect.That(t, err != nil && strings.Contains(err.Error(), "write such as EPSG:25832"), "no number: %v", err)
}

func TestAxisOrder(t *testing.T) {
	// Lübeck in three systems; the form of the name decides which coordinate comes first.
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

// For every pair of systems, Forward does not panic, returns no infinite result without an error, and the inverse
// returns to the start.
func FuzzForward(f *testing.F) {
	codes := crs.Codes()
	for i, p := range [][2]float64{
		{12, 55}, {691875.63, 6098907.83}, {2600000, 1200000}, {-180, -90}, {180, 90}, {0, 0}, {20037508.343, 0},
		{math.Inf(1), 0}, {math.NaN(), math.NaN()}, {1e308, -1e308}, {5e-324, 1e-300}, {4321000, 3210000},
	} {
		f.Add(uint16(i), uint16(3*i+1), p[0], p[1])
		f.Add(uint16(7*i), uint16(0), p[0], p[1])
	}
	// The right edge of the map, seen from a zone at its left edge.
	f.Add(uint16(slices.Index(codes, "EPSG:3857")), uint16(slices.Index(codes, "EPSG:32604")), 20037508.343, 0.0)
	f.Fuzz(func(t *testing.T, a, b uint16, x, y float64) {
		holdPromises(t, codes[int(a)%len(codes)], codes[int(b)%len(codes)], x, y)
	})
}

// Forward and its inverse agree for places that each source reaches: from every system to ten others, chosen at random
// but always the same.
func TestForward_pairs(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	codes := crs.Codes()
	for _, from := range codes {
		start := mustTransform(t, "OGC:CRS84", from)
		for range 10 {
			if x, y, err := start.Forward(within(rng, start.To().Domain())); err == nil {
				holdPromises(t, from, codes[rng.IntN(len(codes))], x, y)
			}
		}
	}
}

func holdPromises(t *testing.T, from, to string, x, y float64) {
	t.Helper()
	gotX, gotY, err := mustTransform(t, from, to).Forward(x, y)
	if err != nil {
		outside := new(crs.RangeError)
		must.That(t, errors.As(err, &outside), "%s to %s of %v, %v: %v", from, to, x, y, err)
		return
	}
	must.That(t, !math.IsNaN(gotX-gotX) && !math.IsNaN(gotY-gotY), "%s to %s of %v, %v gives %v, %v without an error", from, to, x, y, gotX, gotY)
	back := mustTransform(t, to, from)
	backX, backY, err := back.Forward(gotX, gotY)
	if err != nil {
		if outside := new(crs.RangeError); errors.As(err, &outside) && nearEdge(t, back.To(), x, y) {
			return
		}
		t.Fatalf("%s to %s of %v, %v gives %v, %v, and back: %v", from, to, x, y, gotX, gotY, err)
	}
	off := metres(back.To().Unit(), x, y, backX, backY)
	must.That(t, off <= 0.05 || samePlace(t, back.To(), x, y, backX, backY), "%s to %s of %v, %v gives %v, %v, and back is %g m away", from, to, x, y, gotX, gotY, off)
}

// samePlace reports whether two coordinates of a system are within 0.05 m of each other on the globe. A map of the whole
// world has the same meridian at both of its edges.
func samePlace(t *testing.T, c *crs.CRS, x1, y1, x2, y2 float64) bool {
	t.Helper()
	geographic := mustTransform(t, c.Code(), "OGC:CRS84")
	lon1, lat1, err1 := geographic.Forward(x1, y1)
	lon2, lat2, err2 := geographic.Forward(x2, y2)
	return err1 == nil && err2 == nil && metres(crs.Degree, lon1, lat1, lon2, lat2) <= 0.05
}

// nearEdge reports whether a coordinate is so close to the edge of the domain that a micrometre may decide.
func nearEdge(t *testing.T, c *crs.CRS, x, y float64) bool {
	t.Helper()
	geographic := must.Get(crs.NewTransform(c, mustLookup(t, "OGC:CRS84")))(t)
	lon, lat, err := geographic.Forward(x, y)
	d := c.Domain()
	const near = 1e-6
	return err == nil && (math.Abs(lon-d.MinX) < near || math.Abs(lon-d.MaxX) < near || math.Abs(lat-d.MinY) < near || math.Abs(lat-d.MaxY) < near)
}

// A name is known, or the error is an UnknownError.
func FuzzLookup(f *testing.F) {
	for _, name := range []string{
		"EPSG:25832", "urn:ogc:def:crs:EPSG::4326", "http://www.opengis.net/def/crs/OGC/1.3/CRS84", "[EPSG:3035]", "", ":", "[", "\xff",
	} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		c, err := crs.Lookup(name)
		unknown := new(crs.UnknownError)
		must.That(t, (c == nil) == errors.As(err, &unknown) && (c == nil || c.Code() != ""), "%q gives %v, %v", name, c, err)
	})
}
