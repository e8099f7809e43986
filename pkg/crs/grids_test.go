package crs_test

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/crs"
)

const testGrids = "testdata/grids"

func openGrids(t testing.TB, folder string) *crs.Grids {
	t.Helper()
	return must.Get(crs.OpenGrids(folder))(t)
}

// onlyGrid returns a folder with one of the test files.
func onlyGrid(t testing.TB, name string) string {
	t.Helper()
	raw := must.Get(os.ReadFile(filepath.Join(testGrids, name)))(t)
	return folderWith(t, name, raw)
}

func folderWith(t testing.TB, name string, raw []byte) string {
	t.Helper()
	dir := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(dir, name), raw, 0o600))
	return dir
}

func gridTransform(t testing.TB, g *crs.Grids, from, to string, outside crs.Outside) *crs.Transform {
	t.Helper()
	return must.Get(g.NewTransform(mustLookup(t, from), mustLookup(t, to), outside))(t)
}

type gridVectors struct {
	Sets map[string][][]float64
}

// Both files shift like PROJ, in both directions, inside a part that lies in another one and around it.
func TestGrids_against_PROJ(t *testing.T) {
	var v gridVectors
	readJSON(t, "testdata/grids.json", &v)
	for name, ends := range map[string][2]string{"BETA2007.gsb": {"EPSG:4314", "EPSG:4258"}, "rgf93_ntf.gsb": {"EPSG:4275", "EPSG:4171"}} {
		g := openGrids(t, onlyGrid(t, name))
		there, back := gridTransform(t, g, ends[0], ends[1], crs.OutsideRefuse), gridTransform(t, g, ends[1], ends[0], crs.OutsideRefuse)
		var worst float64
		for _, p := range v.Sets[name] {
			lon, lat, err := there.Forward(p[0], p[1])
			must.Do(t, err)
			lon2, lat2, err := back.Forward(p[0], p[1])
			must.Do(t, err)
			worst = max(worst, metres(crs.Degree, lon, lat, p[2], p[3]), metres(crs.Degree, lon2, lat2, p[4], p[5]))
			x, y, err := back.Forward(lon, lat)
			expect.That(t, err == nil && metres(crs.Degree, x, y, p[0], p[1]) <= 1e-8, "%s: %v goes there and back to %v, %v, %v", name, p[:2], x, y, err)
		}
		if len(v.Sets[name]) < 100 || worst > 20e-6 { // PROJ interpolates shifts that it has rounded
			t.Errorf("%s: off by %.3g m at %d points", name, worst, len(v.Sets[name]))
		}
	}
}

// OpenGrids lists the known files of a folder and ignores the others.
func TestOpenGrids(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"beta2007.GSB", "readme.txt", "de_adv_BETA2007.tif"} {
		raw := []byte("nothing")
		if strings.HasPrefix(name, "beta") {
			raw, _ = os.ReadFile(filepath.Join(testGrids, "BETA2007.gsb"))
		}
		must.Do(t, os.WriteFile(filepath.Join(dir, name), raw, 0o600))
	}
	if err := os.Mkdir(filepath.Join(dir, "rdtrans2018.gsb"), 0o700); err != nil { // a folder with that name
		t.Fatal(err)
	}
	g := openGrids(t, dir)
	files := g.Files()
	if len(files) != 1 || files[0].Name != "beta2007.GSB" || files[0].From != "EPSG:4314" || files[0].To != "EPSG:4258" ||
		files[0].Metres != 0.9 || !strings.HasPrefix(files[0].Operation, "EPSG:15948 DHDN") || files[0].Nodes != 22*18+21*11 ||
		!slices.Equal(files[0].Areas, []crs.Bounds{{MinX: 5.5, MinY: 47, MaxX: 16, MaxY: 55.5}}) {
		t.Errorf("files: %+v", files)
	}
	expect.That(t, slices.Equal(g.Others(), []string{"de_adv_BETA2007.tif", "readme.txt"}) && g.Folder() == dir, "others: %q of %s", g.Others(), g.Folder())
}

func TestOpenGrids_refuses(t *testing.T) {
	good := must.Get(os.ReadFile(filepath.Join(testGrids, "BETA2007.gsb")))(t)
	two := folderWith(t, "BETA2007.gsb", good)
	must.Do(t, os.WriteFile(filepath.Join(two, "BWTA2017.gsb"), good, 0o600))
	missing := filepath.Join(t.TempDir(), "none")
	dangling := t.TempDir()
	must.Do(t, os.Symlink(missing, filepath.Join(dangling, "BETA2007.gsb")))
	const wrong = "this is not the grid that the name says"
	forth := must.Get(os.ReadFile(filepath.Join(testGrids, "rgf93_ntf.gsb")))(t)
	for name, c := range map[string]struct{ folder, has string }{
		"no_folder":       {missing, "no such file"},
		"a_file":          {filepath.Join(two, "BETA2007.gsb"), "not a directory"},
		"two_for_a_datum": {two, "BETA2007.gsb and BWTA2017.gsb, which are for the same datums (DHDN and ETRS89): keep one of them"},
		"dangling_link":   {dangling, "no such file"},
		"another_grid":    {folderWith(t, "rdtrans2018.gsb", good), wrong},
		"the_way_back":    {folderWith(t, "ntf_r93.gsb", forth), wrong},
		"another_format":  {folderWith(t, "BETA2007.gsb", []byte("II*\x00")), "byte 0: the file ends after 4 bytes: it is truncated"},
	} {
		g, err := crs.OpenGrids(c.folder)
		expect.That(t, err != nil && strings.Contains(err.Error(), c.has), "%v: got %v, %v; want %q", name, g, err, c.has)
	}
}

// A grid replaces the parameters in every path that leaves its datum, and the accuracy is that of the grid.
func TestGrids_NewTransform_uses_the_grid(t *testing.T) {
	g := openGrids(t, testGrids)
	for _, c := range []struct {
		from, to string
		metres   float64
		source   string
		grid     bool
	}{
		{"EPSG:31467", "EPSG:25832", 0.9, "EPSG:15948 DHDN to ETRS89 (8) (grid file BETA2007.gsb, NTv2, method 9615): 0.9 m as EPSG states", true},
		{"EPSG:25832", "EPSG:31467", 0.9, "method 9615, reversed): 0.9 m", true},
		{"EPSG:31467", "EPSG:4326", 1.9, "; EPSG:1149 ETRS89 to WGS 84", true},
		{"EPSG:27572", "EPSG:2154", 1, "grid file rgf93_ntf.gsb", true},
		{"EPSG:27572", "EPSG:31468", 2, "rgf93_ntf.gsb", true}, // both grids
		{"EPSG:25832", "EPSG:4326", 1, "EPSG:1149", false},
		{"EPSG:31467", "EPSG:31468", 0.001, "same datum", false},
	} {
		tr := gridTransform(t, g, c.from, c.to, crs.OutsideRefuse)
		a := tr.Accuracy()
		expect.That(t, math.Abs(a.Metres-c.metres) <= 0.11 && strings.Contains(a.Source, c.source) && tr.UsesGrid() == c.grid, "%s to %s: %+v, grid %t", c.from, c.to, a, tr.UsesGrid())
		_, falls := tr.Fallback()
		expect.That(t, !falls, "%s to %s falls back", c.from, c.to)
	}
}

// A position outside of the grid is refused or transformed by parameters, as the rule says.
func TestGrids_outside(t *testing.T) {
	g := openGrids(t, testGrids)
	refuse := gridTransform(t, g, "EPSG:4314", "EPSG:4258", crs.OutsideRefuse)
	parameters := gridTransform(t, g, "EPSG:4314", "EPSG:4258", crs.OutsideParameters)
	plain := mustTransform(t, "EPSG:4314", "EPSG:4258")
	a, falls := parameters.Fallback()
	expect.That(t, falls && a.Metres == 3 && strings.Contains(a.Source, "EPSG:1776"), "fallback: %+v, %t", a, falls)
	for name, p := range map[string][2]float64{"west": {5.4, 50}, "south": {10, 46.9}, "north": {10, 55.6}, "east": {16.1, 50}, "hole": {15.5, 47.5}, "edge_of_hole": {14.9, 47.5}} {
		_, _, err := refuse.Forward(p[0], p[1])
		outside := new(crs.RangeError)
		expect.That(t, errors.As(err, &outside) && outside.Reason == crs.ReasonOutsideGrid && strings.Contains(err.Error(), "a place that the grid file does not cover"), "%s: %v", name, err)
		x, y, err := parameters.Forward(p[0], p[1])
		wantX, wantY, _ := plain.Forward(p[0], p[1])
		expect.That(t, err == nil && x == wantX && y == wantY, "%s: %v, %v, %v; want %v, %v", name, x, y, err, wantX, wantY)
	}
	x, y, err := parameters.Forward(9, 50.5)
	wantX, wantY, err2 := refuse.Forward(9, 50.5)
	expect.That(t, err == nil && err2 == nil && x == wantX && y == wantY, "inside the rules differ: %v, %v, %v; %v, %v, %v", x, y, err, wantX, wantY, err2)
	px, py, _ := plain.Forward(9, 50.5)
	expect.That(t, px != x || py != y, "inside the grid the parameters are used")
}

// If parameters are not accepted, a missing grid is an error that names the files.
func TestGrids_missing(t *testing.T) {
	g := openGrids(t, t.TempDir())
	for _, c := range []struct {
		from, to string
		files    []string
	}{
		{"EPSG:31467", "EPSG:25832", []string{"BETA2007.gsb", "BWTA2017.gsb", "SeTa2016.gsb", "HeTa2010.gsb"}},
		{"EPSG:27700", "EPSG:3857", []string{"OSTN15_NTv2_OSGBtoETRS.gsb"}},
		{"EPSG:27572", "EPSG:2154", []string{"rgf93_ntf.gsb", "ntf_r93.gsb"}},
		{"EPSG:25832", "EPSG:4326", nil},
		{"EPSG:31467", "EPSG:4314", nil},
	} {
		from, to := mustLookup(t, c.from), mustLookup(t, c.to)
		got := g.Missing(from, to)
		expect.That(t, slices.Equal(got, c.files), "%s to %s: missing %q, want %q", c.from, c.to, got, c.files)
		_, err := g.NewTransform(from, to, crs.OutsideRefuse)
		missing := new(crs.MissingGridError)
		if got := errors.As(err, &missing); got != (c.files != nil) || got && !strings.Contains(err.Error(), "add "+strings.Join(c.files, " or ")) {
			t.Errorf("%s to %s: %v", c.from, c.to, err)
		}
		_, err = g.NewTransform(from, to, crs.OutsideParameters)
		expect.That(t, err == nil, "%s to %s by parameters: %v", c.from, c.to, err)
	}
}

// The domain is checked before the grid, and numbers that are not finite stay refused.
func TestGrids_refuse_what_is_no_place(t *testing.T) {
	tr := gridTransform(t, openGrids(t, testGrids), "EPSG:31467", "EPSG:25832", crs.OutsideParameters)
	for _, p := range [][2]float64{{math.NaN(), 1}, {math.Inf(1), 5e6}, {1e300, -1e300}, {0, 0}, {3.5e6, 1e7}} {
		x, y, err := tr.Forward(p[0], p[1])
		expect.That(t, err != nil, "%v becomes %v, %v", p, x, y)
	}
}

func TestKnownGrids(t *testing.T) {
	names := map[string]bool{}
	for _, f := range crs.KnownGrids() {
		expect.That(t, !names[f.Name] && f.Metres > 0 && f.Operation != "" && mustLookup(t, f.From) != nil && mustLookup(t, f.To) != nil, "%+v", f)
		names[f.Name] = true
	}
	for _, want := range []string{"OSTN15_NTv2_OSGBtoETRS.gsb", "BETA2007.gsb", "rdtrans2018.gsb", "CHENyx06a.gsb"} {
		expect.That(t, names[want], "%s is not known", want)
	}
}

// The National Grid is compared with the test points that the Ordnance Survey published with its grid transformation,
// which defines OSGB36. This package does not have that grid, so the result is accurate to metres.
func TestOSTN15(t *testing.T) {
	var file struct{ Points [][5]any }
	readJSON(t, "testdata/ostn15.json", &file)
	must.That(t, len(file.Points) == 40, "%d points", len(file.Points))
	tr := mustTransform(t, "EPSG:4258", "EPSG:27700")
	var worst, sum float64
	for _, p := range file.Points {
		var n [4]float64
		for i := range n {
			n[i] = p[i+1].(float64)
		}
		x, y, err := tr.Forward(n[1], n[0])
		must.Do(t, err)
		off := metres(crs.Metre, x, y, n[2], n[3])
		worst, sum = max(worst, off), sum+off
	}
	mean := sum / float64(len(file.Points))
	expect.That(t, worst <= 5 && mean <= 2, "worst %.2f m, mean %.2f m: more than the accuracy of EPSG:1314 says", worst, mean)
}
