package crs_test

import (
	"encoding/json"
	"fmt"
	"math"
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

// vectorFile is a file of golden vectors; testdata/vectors.py says what is in it.
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

// worstError is the greatest distance to PROJ's result in metres.
type worstError struct{ forward, inverse float64 }

func readVectors(t testing.TB) []vectorSet {
	t.Helper()
	files, err := filepath.Glob("testdata/vectors_*.json")
	must.That(t, err == nil && len(files) == 8, "vector files: %v, %v", files, err)
	var out []vectorSet
	for _, name := range files {
		var file vectorFile
		readJSON(t, name, &file)
		expect.That(t, file.PROJ != "" && file.EPSG != "", "%s does not say which PROJ made it", name)
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

// into rounds as the vectors were rounded before they went back into PROJ.
func into(unit crs.Unit, v float64) float64 {
	decimals := 3
	if unit == crs.Degree {
		decimals = 7
	}
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'f', decimals, 64), 64)
	return rounded
}

// measure returns the worst errors of a code over points, from WGS 84 and back.
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

// The vectors are rounded to a micrometre, of which the error shows 0.7.
const (
	tolerance     = 2e-6
	toleranceWide = 5e-6
)

// TestVectors compares every supported code with PROJ, at 200 points of its area of
// use in both directions, 60 for a zone of many, and at some far outside it.
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
		if yx := set.Axes == [2]string{"north", "east"} || strings.HasSuffix(set.Name, "(N,E)"); yx != (c.AuthorityAxisOrder() == crs.AxisYX) {
			t.Errorf("%s: the authority's order is %s, its axes point %q", set.Code, c.AuthorityAxisOrder(), set.Axes)
		}
		expect.That(t, len(set.Points) >= 60, "%s: %d points are too few", set.Code, len(set.Points))
		w, wide := measure(t, set.Code, set.Points), measure(t, set.Code, set.Wide)
		expect.That(t, w.forward <= tolerance && w.inverse <= tolerance, "%s: off by %.3g m forward, %.3g m inverse in its area of use", set.Code, w.forward, w.inverse)
		expect.That(t, wide.forward <= toleranceWide && wide.inverse <= toleranceWide, "%s: off by %.3g m forward, %.3g m inverse in its domain", set.Code, wide.forward, wide.inverse)
	}
	for _, code := range crs.Codes() {
		if !slices.Contains(seen, code) && code != "OGC:CRS84" { // which is 4326, see TestLookup
			t.Errorf("%s has no vectors", code)
		}
	}
}

// TestPairs compares transformations between projected systems, with and without a
// change of datum on the way.
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
