package crs_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/crs"
)

// within returns a place in a box, a millionth of a degree inside.
func within(rng *rand.Rand, b crs.Bounds) (x, y float64) {
	if b.MinX > b.MaxX {
		b.MaxX += 360
	}
	x = b.MinX + 1e-6 + rng.Float64()*(b.MaxX-b.MinX-2e-6)
	if x > 180 {
		x -= 360
	}
	return x, b.MinY + 1e-6 + rng.Float64()*(b.MaxY-b.MinY-2e-6)
}

// Systems that differ only in their axes or by a null transformation have the same numbers to the last bit.
func TestForward_identity_is_exact(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, pair := range [][2]string{
		{"EPSG:4326", "OGC:CRS84"},
		{"EPSG:4326", "urn:ogc:def:crs:EPSG::4258"},
		{"EPSG:4269", "EPSG:4258"},
		{"EPSG:25832", "EPSG:25832"},
		{"EPSG:3035", "urn:ogc:def:crs:EPSG::3035"},
		{"EPSG:27700", "EPSG:27700"},
	} {
		tr := mustTransform(t, pair[0], pair[1])
		start := mustTransform(t, "OGC:CRS84", pair[0])
		for range 100 {
			x, y, err := start.Forward(within(rng, tr.From().AreaOfUse()))
			must.Do(t, err)
			gotX, gotY, err := tr.Forward(x, y)
			if tr.To().AxisOrder() == crs.AxisYX {
				gotX, gotY = gotY, gotX
			}
			must.That(t, err == nil && gotX == x && gotY == y, "%s to %s: %v, %v become %v, %v, %v", pair[0], pair[1], x, y, gotX, gotY, err)
		}
	}
}

func TestForward_refuses(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		name, from, to string
		x, y           float64
		reason         crs.Reason
		message        string // a part of it
	}{
		{"nan", "EPSG:4326", "EPSG:3857", nan, 1, crs.ReasonNonFinite, "NaN, 1 is not finite"},
		{"infinite", "EPSG:25832", "EPSG:3857", 5e5, -inf, crs.ReasonNonFinite, "-Inf is not finite"},
		{"projected_taken_for_degrees", "EPSG:4326", "EPSG:3857", 691875.63, 6098907.83, crs.ReasonOutsideSource, "or EPSG:25828-25836 (ETRS89 / UTM north) or"},
		{"swapped", "OGC:CRS84", "EPSG:3857", 53.8, 110.7, crs.ReasonOutsideSource, "latitude first"},
		{"swapped_by_authority", "urn:ogc:def:crs:EPSG::4326", "EPSG:3857", 110.7, 53.8, crs.ReasonOutsideSource, "look like EPSG:4326, OGC:CRS84"},
		{"longitude_to_360", "EPSG:4326", "EPSG:3857", 350.7, 53.8, crs.ReasonOutsideSource, "subtract 360"},
		{"degrees_taken_for_metres", "EPSG:25832", "EPSG:4326", 10.7, 53.8, crs.ReasonOutsideSource, "look like EPSG:4326, OGC:CRS84 (longitude and latitude)"},
		{"pole_in_web_mercator", "EPSG:4326", "EPSG:3857", 0, -90, crs.ReasonOutsideTarget, "latitude -85.06 to 85.06"},
		{"elsewhere", "EPSG:4326", "EPSG:27700", 12, 55, crs.ReasonOutsideTarget, "EPSG:27700 (OSGB36 / British National Grid) does not reach"},
		{"other_side_of_the_earth", "EPSG:4326", "EPSG:32632", -171, 10, crs.ReasonOutsideTarget, "longitude -21 to 39"},
		// The formulas are periodic: once around, they would return a legal place.
		{"round_the_meridian", "EPSG:25832", "EPSG:4326", 5e5, 5.5e6 + 39993000, crs.ReasonOutsideSource, ""},
		{"over_the_pole", "EPSG:32632", "EPSG:4326", 5e5, 20004000 - 5.5e6, crs.ReasonOutsideSource, ""},
		{"round_the_world", "EPSG:3857", "EPSG:4326", 40075016, 0, crs.ReasonOutsideSource, ""},
		{"round_the_swiss_sphere", "EPSG:2056", "EPSG:4326", 2600000 + 40068000, 1200000, crs.ReasonOutsideSource, ""},
		{"round_the_cone", "EPSG:2154", "EPSG:4326", 700000, 20000000, crs.ReasonOutsideSource, ""},
		{"round_the_albers_cone", "EPSG:5070", "EPSG:4326", 0, 20000000, crs.ReasonOutsideSource, ""},
		{"beyond_the_antipode", "EPSG:3035", "EPSG:4326", 4321000 + 13000000, 3210000, crs.ReasonOutsideSource, ""},
		{"pole_in_mercator", "EPSG:4326", "EPSG:3395", 0, 90, crs.ReasonOutsideTarget, "latitude -85 to 89"},
		{"round_the_world_in_mercator", "EPSG:3395", "EPSG:4326", 40075016, 0, crs.ReasonOutsideSource, ""},
		{"south_in_the_north", "EPSG:4326", "EPSG:3413", 10, -70, crs.ReasonOutsideTarget, "latitude 0 to 90"},
		{"beyond_the_equator", "EPSG:3031", "EPSG:4326", 1.3e7, 1.3e7, crs.ReasonOutsideSource, ""},
		{"huge_polar", "EPSG:3031", "EPSG:4326", 1e308, 1e308, crs.ReasonOutsideSource, ""},
		{"outside_of_krovak", "EPSG:5514", "EPSG:4326", 0, 0, crs.ReasonOutsideSource, ""},
		{"round_krovak", "EPSG:5514", "EPSG:4326", 743000, 1043000, crs.ReasonOutsideSource, ""},
		{"huge_krovak", "EPSG:5514", "EPSG:4326", -1e308, 1e308, crs.ReasonOutsideSource, ""},
		{"far_from_amersfoort", "EPSG:28992", "EPSG:4326", 5e6, 463000, crs.ReasonOutsideSource, ""},
		{"huge_stereographic", "EPSG:28992", "EPSG:4326", 1e308, -1e308, crs.ReasonOutsideSource, ""},
		{"pole_in_stereographic", "EPSG:4326", "EPSG:28992", 5, 90, crs.ReasonOutsideTarget, ""},
		{"regional_degrees", "EPSG:4314", "EPSG:4326", -50, -10, crs.ReasonOutsideSource, "longitude 0.86 to 18.84"},
		{"regional_degrees_as_target", "EPSG:4326", "EPSG:4167", 10, 50, crs.ReasonOutsideTarget, "longitude 155.6 to -166.2"},
		{"longitude_of_another_turn", "EPSG:4167", "EPSG:4326", 190, -40, crs.ReasonOutsideSource, "subtract 360"},
		{"huge", "EPSG:3035", "EPSG:4326", 1e308, -1e308, crs.ReasonOutsideSource, ""},
		{"huge_conic", "EPSG:2154", "EPSG:4326", 1e308, 1e308, crs.ReasonOutsideSource, ""},
	} {
		t.Run("S1-4_"+c.name, func(t *testing.T) {
			x, y, err := mustTransform(t, c.from, c.to).Forward(c.x, c.y)
			var outside *crs.RangeError
			must.That(t, errors.As(err, &outside), "got %v, %v, %v", x, y, err)
			expect.That(t, outside.Reason == c.reason && strings.Contains(err.Error(), c.message) && !strings.Contains(err.Error(), "e+"), "%s: %v", outside.Reason, err)
		})
	}
}

// The edge of the world in Web Mercator is often rounded outwards to millimetres.
func TestForward_rounded_edge(t *testing.T) {
	lon, lat, err := mustTransform(t, "EPSG:3857", "EPSG:4326").Forward(20037508.343, -20037508.343)
	expect.That(t, err == nil && lon == 180 && math.Abs(lat+85.0511287798) <= 1e-8, "got %v, %v, %v", lon, lat, err)
}

// At a pole every longitude is the same place.
func TestForward_at_the_poles(t *testing.T) {
	for _, c := range []struct {
		code      string
		x, y, lat float64
	}{
		{"EPSG:3031", 0, 0, -90}, {"EPSG:3413", 0, 0, 90}, {"EPSG:5041", 2e6, 2e6, 90}, {"EPSG:32761", 2e6, 2e6, -90},
	} {
		there, back := mustTransform(t, "EPSG:4326", c.code), mustTransform(t, c.code, "EPSG:4326")
		for _, lon := range []float64{-180, -45, 0, 90, 180} {
			x, y, err := there.Forward(lon, c.lat)
			expect.That(t, err == nil && math.Abs(x-c.x) <= 1e-6 && math.Abs(y-c.y) <= 1e-6, "%s: the pole at longitude %v is %v, %v, %v", c.code, lon, x, y, err)
		}
		for _, nudge := range []float64{0, 5e-324, 1e-160, 1e-9} {
			_, lat, err := back.Forward(c.x+nudge, c.y)
			expect.That(t, err == nil && math.Abs(lat-c.lat) <= 1e-9, "%s: %v beside the pole is at latitude %v, %v", c.code, nudge, lat, err)
		}
		lon, _, err := back.Forward(c.x, c.y)
		expect.That(t, err == nil && lon >= -180 && lon <= 180, "%s: the pole has the longitude %v, %v", c.code, lon, err)
	}
}

func TestForward_across_the_antimeridian(t *testing.T) {
	tr, back := mustTransform(t, "EPSG:4326", "EPSG:32601"), mustTransform(t, "EPSG:32601", "EPSG:4326")
	x, y, err := tr.Forward(179, 60) // 4° west of the central meridian
	must.That(t, err == nil && math.Abs(x-276970) <= 1000, "got %v, %v, %v", x, y, err)
	lon, lat, err := back.Forward(x, y)
	expect.That(t, err == nil && math.Abs(lon-179) <= 1e-12 && math.Abs(lat-60) <= 1e-12, "back at %v, %v, %v", lon, lat, err)
}

func TestAccuracy(t *testing.T) {
	for _, c := range []struct {
		from, to string
		metres   float64
		source   string
	}{
		{"EPSG:4258", "EPSG:25832", 0.001, "same datum"},
		{"EPSG:25832", "EPSG:4326", 1, "EPSG:1149 ETRS89 to WGS 84 (1) (null transformation): 1 m as EPSG states"},
		{"EPSG:4326", "EPSG:5070", 4, "EPSG:1188 NAD83 to WGS 84 (1) (null transformation, reversed): 4 m"},
		{"EPSG:27700", "EPSG:4326", 5, "EPSG:1314 OSGB36 to WGS 84 (6) (position vector transformation, method 9606): 5 m, the worst of the 40 test points"},
		{"EPSG:2056", "EPSG:4326", 1, "EPSG:1676 CH1903+ to WGS 84 (1) (geocentric translations, method 9603): 1 m"},
		{"EPSG:2056", "EPSG:25832", 0.1, "EPSG:1647"},
		{"EPSG:2154", "EPSG:4326", 1, "EPSG:1671"},
		{"EPSG:2154", "EPSG:2056", 0.2, "EPSG:1591 RGF93 v1 to ETRS89 (1) (null transformation): 0.1 m as EPSG states; EPSG:1647"},
		{"EPSG:27700", "EPSG:25830", 6, "; EPSG:1149"},
		{"EPSG:5070", "EPSG:3035", 5, "; EPSG:1149"},
	} {
		got := mustTransform(t, c.from, c.to).Accuracy()
		expect.That(t, math.Abs(got.Metres-c.metres) <= 1e-12 && strings.Contains(got.Source, c.source), "%s to %s: %g m, %s", c.from, c.to, got.Metres, got.Source)
	}
}

func TestNewTransform_refuses(t *testing.T) {
	wgs := mustLookup(t, "EPSG:4326")
	for _, pair := range [][2]*crs.CRS{{nil, wgs}, {wgs, nil}, {wgs, {}}, {{}, wgs}} {
		tr, err := crs.NewTransform(pair[0], pair[1])
		expect.That(t, err != nil, "got %v", tr)
	}
}

// vectorFile is a file of test vectors; testdata/vectors.py describes it.
type vectorFile struct {
	PROJ string      `json:"proj"`
	EPSG string      `json:"epsg"`
	Sets []vectorSet `json:"sets"`
}

type vectorSet struct {
	Code   string       `json:"code"`
	Name   string       `json:"name"`
	Area   [4]float64   `json:"area"`
	Axes   [2]string    `json:"axes"` // directions
	Points [][6]float64 `json:"points"`
	Wide   [][6]float64 `json:"wide"`
}

// worstError is the largest distance to the result of PROJ in metres.
type worstError struct{ forward, inverse float64 }

func readVectors(t testing.TB) []vectorSet {
	t.Helper()
	files, err := filepath.Glob("testdata/vectors_*.json")
	must.That(t, err == nil && len(files) == 8, "vector files: %v, %v", files, err)
	var out []vectorSet
	for _, name := range files {
		var file vectorFile
		readJSON(t, name, &file)
		expect.That(t, file.PROJ != "" && file.EPSG != "", "%s does not state which version of PROJ made it", name)
		out = append(out, file.Sets...)
	}
	return out
}

func readJSON(t testing.TB, name string, v any) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err == nil {
		err = json.Unmarshal(text, v)
	}
	must.Do(t, err)
}

func mustLookup(t testing.TB, name string) *crs.CRS {
	t.Helper()
	return must.Get(crs.Lookup(name))(t)
}

func mustTransform(t testing.TB, from, to string) *crs.Transform {
	t.Helper()
	return must.Get(crs.NewTransform(mustLookup(t, from), mustLookup(t, to)))(t)
}

// metres returns the distance between two coordinates of a unit.
func metres(unit crs.Unit, x1, y1, x2, y2 float64) float64 {
	dx, dy := x2-x1, y2-y1
	if unit == crs.Degree {
		dx = math.Remainder(dx, 360) * 111320 * math.Cos(y1*math.Pi/180)
		dy *= 111320
	}
	return math.Hypot(dx, dy)
}

// into rounds as the vectors were rounded before PROJ read them again.
func into(unit crs.Unit, v float64) float64 {
	decimals := 3
	if unit == crs.Degree {
		decimals = 7
	}
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'f', decimals, 64), 64)
	return rounded
}

// measure returns the largest errors of a code over points, from WGS 84 and back.
func measure(t testing.TB, code string, points [][6]float64) worstError {
	t.Helper()
	forward, inverse := mustTransform(t, "EPSG:4326", code), mustTransform(t, code, "EPSG:4326")
	unit := forward.To().Unit()
	var w worstError
	for _, p := range points {
		x, y, err := forward.Forward(p[0], p[1])
		must.That(t, err == nil, "%s: forward %v: %v", code, p, err)
		w.forward = max(w.forward, metres(unit, x, y, p[2], p[3]))
		lon, lat, err := inverse.Forward(into(unit, p[2]), into(unit, p[3]))
		must.That(t, err == nil, "%s: inverse %v: %v", code, p, err)
		w.inverse = max(w.inverse, metres(crs.Degree, lon, lat, p[4], p[5]))
	}
	return w
}

// The vectors are rounded to a micrometre, which causes an error of 0.7.
const (
	tolerance     = 2e-6
	toleranceWide = 5e-6
)

// Every supported code is compared with PROJ at 200 points of its area of use in both directions, at 60 points for a
// zone of many, and at some points far outside.
func TestVectors(t *testing.T) {
	var seen []string
	for _, set := range readVectors(t) {
		seen = append(seen, set.Code)
		c := mustLookup(t, set.Code)
		expect.That(t, c.Name() == set.Name, "%s is called %q, PROJ has %q", set.Code, c.Name(), set.Name)
		a := c.AreaOfUse()
		for i, v := range [4]float64{a.MinX, a.MinY, a.MaxX, a.MaxY} {
			if math.Abs(v-set.Area[i]) > 0.0101 { // the dataset has 32629 rounded up by 0.01°
				t.Errorf("%s: area of use %v, PROJ has %v", set.Code, a, set.Area)
			}
		}
		yx := set.Axes == [2]string{"north", "east"} || strings.HasSuffix(set.Name, "(N,E)")
		expect.That(t, yx == (c.AuthorityAxisOrder() == crs.AxisYX), "%s: the authority's order is %s, its axes point %q", set.Code, c.AuthorityAxisOrder(), set.Axes)
		expect.That(t, len(set.Points) >= 60, "%s: %d points are too few", set.Code, len(set.Points))
		w, wide := measure(t, set.Code, set.Points), measure(t, set.Code, set.Wide)
		expect.That(t, w.forward <= tolerance && w.inverse <= tolerance, "%s: off by %.3g m forward, %.3g m inverse in its area of use", set.Code, w.forward, w.inverse)
		expect.That(t, wide.forward <= toleranceWide && wide.inverse <= toleranceWide, "%s: off by %.3g m forward, %.3g m inverse in its domain", set.Code, wide.forward, wide.inverse)
	}
	for _, code := range crs.Codes() {
		if !slices.Contains(seen, code) && code != "OGC:CRS84" { // it equals 4326, see TestLookup
			t.Errorf("%s has no vectors", code)
		}
	}
}

// Transformations between projected systems agree with PROJ, with and without a change of datum.
func TestPairs(t *testing.T) {
	var file struct {
		Sets []struct {
			From, To string
			Points   [][4]float64
		}
	}
	readJSON(t, "testdata/pairs.json", &file)
	must.That(t, len(file.Sets) >= 10, "only %d pairs", len(file.Sets))
	for _, set := range file.Sets {
		t.Run(fmt.Sprintf("%s to %s", set.From, set.To), func(t *testing.T) {
			tr := mustTransform(t, set.From, set.To)
			var worst float64
			for _, p := range set.Points {
				x, y, err := tr.Forward(p[0], p[1])
				must.Do(t, err)
				worst = max(worst, metres(tr.To().Unit(), x, y, p[2], p[3]))
			}
			expect.That(t, len(set.Points) >= 100 && worst <= toleranceWide, "off by %.3g m at %d points", worst, len(set.Points))
		})
	}
}
