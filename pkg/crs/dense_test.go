package crs_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"

	"github.com/switchback-geo/switchback/pkg/crs"
)

// denseFile is testdata/dense.json: what testdata/dense.py found.
type denseFile struct {
	PROJ    string               `json:"proj"`
	PyProj  string               `json:"pyproj"`
	EPSG    string               `json:"epsg"`
	Points  int                  `json:"points"` // of the area of use
	Wide    int                  `json:"wide"`   // of the domain
	Systems map[string]denseDiff `json:"systems"`
	Grids   map[string]denseDiff `json:"grids"`
}

// denseDiff has the greatest distances in metres: to PROJ's results, and of a place to
// itself after it went there and back by the package alone.
type denseDiff struct {
	Forward   float64 `json:"forward"`
	Inverse   float64 `json:"inverse"`
	RoundTrip float64 `json:"round_trip"`
	Compared  int     `json:"compared,omitempty"` // points that PROJ and the package both have, of a grid
	Refused   int     `json:"refused,omitempty"`  // points that PROJ alone has
}

func readDense(t testing.TB) denseFile {
	t.Helper()
	var d denseFile
	readJSON(t, "testdata/dense.json", &d)
	return d
}

// TestDense is the half of testdata/dense.py that knows the package.
func TestDense(t *testing.T) {
	dir := os.Getenv("CRS_DENSE")
	if dir == "" {
		t.Skip(testrun.Skipped + "testdata/dense.py, run by hand, makes PROJ's results and runs this test")
	}
	d := readDense(t)
	readJSON(t, filepath.Join(dir, "head.json"), &d)
	d.Systems = map[string]denseDiff{}
	files := must.Get(filepath.Glob(filepath.Join(dir, "*_*")))(t)
	for _, file := range files {
		kind, name, _ := strings.Cut(filepath.Base(file), "_")
		points := readPoints(t, file)
		if kind == "EPSG" {
			code := "EPSG:" + name
			d.Systems[code] = compareDense(t, mustTransform(t, "EPSG:4326", code), mustTransform(t, code, "EPSG:4326"), points)
			continue
		}
		if d.Grids == nil {
			d.Grids = map[string]denseDiff{}
		}
		if kind == "GEOID" {
			d.Grids[name] = compareGeoid(t, os.Getenv("CRS_DENSE_GRIDS"), name, points)
			continue
		}
		there, back := gridTransforms(t, os.Getenv("CRS_DENSE_GRIDS"), name)
		d.Grids[name] = compareDense(t, there, back, points)
		t.Logf("%s: %+v", name, d.Grids[name])
	}
	text, err := json.Marshal(d)
	if err == nil { // one system in a line, so that a change can be read
		err = os.WriteFile("testdata/dense.json", append(bytes.ReplaceAll(text, []byte("},\""), []byte("},\n\"")), '\n'), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func readPoints(t *testing.T, file string) [][6]float64 {
	t.Helper()
	f := must.Get(os.Open(file))(t)
	defer f.Close()
	info := must.Get(f.Stat())(t)
	points := make([][6]float64, info.Size()/48)
	must.Do(t, binary.Read(f, binary.LittleEndian, points))
	return points
}

// gridTransforms makes the transformations between the two datums of a grid file.
func gridTransforms(t *testing.T, folder, name string) (there, back *crs.Transform) {
	t.Helper()
	grids := openAlone(t, folder, name)
	file := grids.Files()[0]
	t.Logf("%s: %s, %d nodes, %v", file.Name, file.Operation, file.Nodes, file.Areas)
	there, err := grids.NewTransform(mustLookup(t, file.From), mustLookup(t, file.To), crs.OutsideRefuse)
	if err != nil {
		t.Fatal(err)
	}
	back, err = grids.NewTransform(there.To(), there.From(), crs.OutsideRefuse)
	if err != nil {
		t.Fatal(err)
	}
	return there, back
}

// openAlone opens one file of a folder.
func openAlone(t *testing.T, folder, name string) *crs.Grids {
	t.Helper()
	alone := t.TempDir()
	must.Do(t, os.Symlink(filepath.Join(folder, name), filepath.Join(alone, name)))
	return openGrids(t, alone)
}

// compareGeoid measures the heights of a geoid, which stand where the others have x.
func compareGeoid(t *testing.T, folder, name string, points [][6]float64) denseDiff {
	t.Helper()
	known := crs.KnownGeoids()
	at := slices.IndexFunc(known, func(f crs.GeoidFile) bool { return f.Name == name })
	h := must.Get(openAlone(t, folder, name).NewHeights(mustLookup(t, known[at].Places), known[at].Heights, "EPSG:4979", crs.OutsideRefuse))(t)
	var d denseDiff
	for _, p := range points {
		shift, err := h.Shift(p[0], p[1])
		switch {
		case err == nil && !math.IsInf(p[2], 0):
			d.Compared++
			d.Forward = max(d.Forward, math.Abs(shift-p[2]))
		case err != nil && !math.IsInf(p[2], 0):
			d.Refused++
		}
	}
	d.Forward = roundUp(d.Forward)
	t.Logf("%s: %+v", name, d)
	return d
}

// compareDense measures; a point that PROJ cannot transform counts only where the
// package can.
func compareDense(t *testing.T, forward, inverse *crs.Transform, points [][6]float64) denseDiff {
	t.Helper()
	var d denseDiff
	unit, grid := forward.To().Unit(), forward.UsesGrid()
	for _, p := range points {
		x, y, err := forward.Forward(p[0], p[1])
		known := !math.IsInf(p[2], 0) && !math.IsInf(p[4], 0)
		if err != nil && grid {
			if known {
				d.Refused++
			}
			continue
		}
		if err != nil || !known && !grid {
			t.Fatalf("%s to %s: %v: %v", forward.From(), forward.To(), p, err)
		}
		lon, lat, err := inverse.Forward(x, y)
		if err == nil {
			d.RoundTrip = max(d.RoundTrip, metres(crs.Degree, lon, lat, p[0], p[1]))
		}
		if !known {
			continue
		}
		d.Compared++
		d.Forward = max(d.Forward, metres(unit, x, y, p[2], p[3]))
		if lon, lat, err = inverse.Forward(p[2], p[3]); err == nil {
			d.Inverse = max(d.Inverse, metres(crs.Degree, lon, lat, p[4], p[5]))
		} else if !grid {
			t.Fatalf("%s to %s: %v: %v", inverse.From(), inverse.To(), p, err)
		}
	}
	if !grid {
		d.Compared = 0
	}
	for _, v := range []*float64{&d.Forward, &d.Inverse, &d.RoundTrip} {
		*v = roundUp(*v)
	}
	return d
}

// roundUp returns a length with two digits, never a smaller one.
func roundUp(v float64) float64 {
	if v == 0 {
		return 0
	}
	unit := math.Pow(10, math.Floor(math.Log10(v))-1)
	up, _ := strconv.ParseFloat(strconv.FormatFloat(math.Ceil(v/unit)*unit, 'g', 2, 64), 64)
	return up
}
