package transform

import (
	"errors"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/crs"
)

// testGrids has small files with the names of published ones; see pkg/crs/testdata.
const testGrids = "../crs/testdata/grids"

func openGrids(t *testing.T, folder string) *crs.Grids {
	t.Helper()
	return must.Get(crs.OpenGrids(folder))(t)
}

func TestGrids_S1_4(t *testing.T) {
	const inside, outside = `{"type":"Feature","geometry":{"type":"Point","coordinates":[3500000,5600000]},"properties":{}}`,
		`{"type":"Feature","geometry":{"type":"LineString","coordinates":[[3500000,5600000],[3100000,5400000]]},"properties":{}}`
	rules := GeometryRules{SourceCRS: "EPSG:31467", TargetCRS: "EPSG:4258", Grids: GridRules{Folder: "there"}}
	apply := func(rules GeometryRules, in string) (string, error) {
		six := 6
		var folder *crs.Grids
		if rules.Grids.Folder != "" {
			folder = openGrids(t, testGrids)
		}
		tr := mustNew(t, Config{Geometry: roundedTo(rules, &six), Grids: folder})
		f, err := tr.Apply(t.Context(), []byte(in))
		if err != nil {
			return "", err
		}
		return mustEncode(t, tr, f), nil
	}
	withGrid := must.Get(apply(rules, inside))(t)
	plain, err := apply(GeometryRules{SourceCRS: "EPSG:31467", TargetCRS: "EPSG:4258"}, inside)
	expect.That(t, err == nil && plain != withGrid, "the grid changes nothing: %s, %v", plain, err)
	_, err = apply(rules, outside)
	if e := asError(t, err); e.Code != classify.CodeCoordinateRange || e.Path != "/geometry/coordinates/1" || !strings.Contains(e.Message, "no grid file covers it") ||
		!strings.Contains(e.Fix, "geometry.grids.outside: parameters") {
		t.Errorf("outside: %+v", e)
	}
	rules.Grids.Outside = crs.OutsideParameters
	_, err = apply(rules, outside)
	expect.That(t, err == nil, "outside, by parameters: %v", err)
}

// A record may name a system of its own, for which no file is there.
func TestGrids_S1_4_of_the_records_own_system(t *testing.T) {
	const dutch = `{"type":"Feature","crs":{"type":"name","properties":{"name":"EPSG:28992"}},"geometry":{"type":"Point","coordinates":[155000,463000]},"properties":{}}`
	for outside, code := range map[crs.Outside]classify.Code{crs.OutsideRefuse: classify.CodeUnknownCRS, crs.OutsideParameters: ""} {
		tr := mustNew(t, Config{Grids: openGrids(t, testGrids), Geometry: GeometryRules{
			SourceCRS: "EPSG:31467", DeclaredCRS: DeclaredUse, Grids: GridRules{Folder: "there", Outside: outside},
		}})
		_, err := tr.Apply(t.Context(), []byte(dutch))
		if code == "" {
			expect.That(t, err == nil, "%s: %v", outside, err)
			continue
		}
		e := asError(t, err)
		expect.That(t, e.Code == code && strings.Contains(e.Message, "rdtrans2018.gsb") && strings.Contains(e.Fix, "geometry.grids.folder"), "%s: %+v", outside, e)
	}
}

// What can be said without a file is said by Check, the rest by New.
func TestGrids_config(t *testing.T) {
	folder := GridRules{Folder: "there"}
	for name, c := range map[string]struct {
		rules GeometryRules
		path  string
		has   string
	}{
		"outside_without_a_folder": {GeometryRules{Grids: GridRules{Outside: crs.OutsideParameters}}, "geometry.grids.outside", "no grid files"},
		"unknown_word":             {GeometryRules{SourceCRS: "EPSG:31467", Grids: GridRules{Folder: "x", Outside: "guess"}}, "geometry.grids.outside", `"guess" is not known`},
		"no_effect":                {GeometryRules{SourceCRS: "EPSG:25832", Grids: folder}, "geometry.grids.folder", "no grid is known between EPSG:25832 and EPSG:4326"},
	} {
		faults := new(ConfigError)
		err := Check(Config{Geometry: c.rules})
		expect.That(t, errors.As(err, &faults) && faults.Faults[0].Path == c.path && strings.Contains(err.Error(), c.has), "%v: got %v, want %s: %s", name, err, c.path, c.has)
	}
	rules := GeometryRules{SourceCRS: "EPSG:31467", Grids: folder}
	expect.Do(t, Check(Config{Geometry: rules}), "Check")
	_, err := New(Config{Geometry: rules})
	expect.That(t, err != nil && strings.Contains(err.Error(), "were not read"), "without the files: %v", err)
	_, err = New(Config{Geometry: rules, Grids: openGrids(t, t.TempDir())})
	expect.That(t, err != nil && strings.Contains(err.Error(), "add BETA2007.gsb or"), "an empty folder: %v", err)
	rules.Grids.Outside = crs.OutsideParameters
	_, err = New(Config{Geometry: rules, Grids: openGrids(t, t.TempDir())})
	expect.That(t, err != nil && strings.Contains(err.Error(), "add BETA2007.gsb or"), "an empty folder, by parameters: %v", err)
}

func TestCheckGrids_says_how_exact_the_output_is(t *testing.T) {
	grids := openGrids(t, testGrids)
	x, err := CheckGrids(GeometryRules{SourceCRS: "EPSG:31467", TargetCRS: "EPSG:25832", Grids: GridRules{Folder: "there", Outside: crs.OutsideParameters}}, grids)
	expect.That(t, err == nil && x.Source.Code() == "EPSG:31467" && x.Target.Code() == "EPSG:25832" && x.UsesGrid && x.Plane.Metres == 0.9 && x.Outside.Metres == 3,
		"%+v, %v", x, err)
	if x, err = CheckGrids(GeometryRules{SourceCRS: "EPSG:31467"}, nil); err != nil || x.UsesGrid || x.Outside != nil || x.Plane.Metres != 3 {
		t.Errorf("without a grid: %+v, %v", x, err)
	}
	if x, err = CheckGrids(GeometryRules{}, nil); err != nil || x.Plane != nil {
		t.Errorf("the same system: %+v, %v", x, err)
	}
}
