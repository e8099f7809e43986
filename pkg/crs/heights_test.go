package crs_test

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/crs"
)

func newHeights(t testing.TB, places, from, to string) *crs.Heights {
	t.Helper()
	return must.Get(openGrids(t, testGrids).NewHeights(mustLookup(t, places), from, to, crs.OutsideParameters))(t)
}

// TestHeights_against_PROJ compares the heights of geoids, also between the last and the
// first column of a grid that goes round the Earth.
func TestHeights_against_PROJ(t *testing.T) {
	var v gridVectors
	readJSON(t, "testdata/grids.json", &v)
	for name, c := range map[string][2]string{"egm96_15.gtx": {"EPSG:4326", "EPSG:5773"}, "nlgeo2018.gtx": {"EPSG:4258", "EPSG:5709"}} {
		up, down := newHeights(t, c[0], c[1], "EPSG:4937"), newHeights(t, c[0], "EPSG:4979", c[1])
		var worst float64
		for _, p := range v.Sets[name] {
			shift := must.Get(up.Shift(p[0], p[1]))(t)
			back, err := down.Shift(p[0], p[1])
			expect.That(t, err == nil && back == -shift, "%s: %v up, %v down, %v", name, shift, back, err)
			worst = max(worst, math.Abs(shift-p[2]))
		}
		expect.That(t, len(v.Sets[name]) >= 100 && worst <= 1e-6, "%s: off by %.3g m at %d points", name, worst, len(v.Sets[name]))
	}
}

func TestHeights_at_the_edges_of_the_world(t *testing.T) {
	h := newHeights(t, "EPSG:4326", "EPSG:5773", "EPSG:4979")
	for _, lat := range []float64{-90, 0, 90} {
		west, err := h.Shift(-180, lat)
		east, err2 := h.Shift(180, lat)
		expect.That(t, err == nil && err2 == nil && math.Abs(west-east) <= 1e-6, "latitude %v: %v, %v; %v, %v", lat, west, err, east, err2)
	}
	if _, err := h.Shift(math.NaN(), 0); err == nil {
		t.Error("NaN is a place")
	}
}

// Places come in any system: the geoid is looked up on its own datum.
func TestHeights_of_projected_places(t *testing.T) {
	direct, projected := newHeights(t, "EPSG:4258", "EPSG:5709", "EPSG:4937"), newHeights(t, "EPSG:28992", "EPSG:5709", "EPSG:4937")
	x, y, err := mustTransform(t, "EPSG:4258", "EPSG:28992").Forward(5.2, 52.1)
	must.Do(t, err)
	a, err := direct.Shift(5.2, 52.1)
	b, err2 := projected.Shift(x, y)
	expect.That(t, err == nil && err2 == nil && math.Abs(a-b) <= 1e-6 && a >= 40, "%v, %v; %v, %v", a, err, b, err2)
	got := direct.Accuracy()
	expect.That(t, got.Metres == 0.001 && strings.Contains(got.Source, "EPSG:9283 ETRS89 to NAP height (2) (geoid file nlgeo2018.gtx): 0.001 m"), "accuracy %+v", got)
	both := newHeights(t, "EPSG:4258", "EPSG:5709", "EPSG:5773")
	got = both.Accuracy()
	expect.That(t, got.Metres == 1.001 && strings.Contains(got.Source, "; EPSG:10084"), "accuracy of two geoids %+v", got)
}

func TestHeights_refuse(t *testing.T) {
	h := newHeights(t, "EPSG:4258", "EPSG:5709", "EPSG:4937")
	for name, p := range map[string][2]float64{"outside": {9, 52}, "no_height": {7.8, 53.9}, "beside_no_height": {7.3, 53.8}} {
		_, err := h.Shift(p[0], p[1])
		outside := new(crs.RangeError)
		expect.That(t, errors.As(err, &outside) && outside.Reason == crs.ReasonOutsideGeoid && strings.Contains(err.Error(), "the geoid file has no height"), "%s: %v", name, err)
	}
	same := newHeights(t, "EPSG:4258", "EPSG:5709", "EPSG:5709")
	if shift, err := same.Shift(1e9, 1e9); shift != 0 || err != nil {
		t.Errorf("the same system shifts by %v, %v", shift, err)
	}
}

func TestNewHeights_refuses(t *testing.T) {
	g, place := openGrids(t, testGrids), mustLookup(t, "EPSG:4326")
	unknown, missing := new(crs.UnknownHeightsError), new(crs.MissingFileError)
	_, err := g.NewHeights(place, "EPSG:5709", "EPSG:4326", crs.OutsideRefuse)
	expect.That(t, errors.As(err, &unknown) && strings.Contains(err.Error(), "EPSG:5773 (EGM96 height)"), "a plane system: %v", err)
	_, err = g.NewHeights(place, "EPSG:3855", "EPSG:4979", crs.OutsideRefuse)
	expect.That(t, errors.As(err, &missing) && missing.File == "egm08_25.gtx", "a file that is not there: %v", err)
	_, err = (*crs.Grids)(nil).NewHeights(place, "EPSG:5773", "EPSG:4979", crs.OutsideRefuse)
	expect.That(t, errors.As(err, &missing), "no folder: %v", err)
	_, err = g.NewHeights(nil, "EPSG:5773", "EPSG:4979", crs.OutsideRefuse)
	expect.That(t, err != nil, "no system of the places")
	for _, code := range crs.HeightCodes() {
		expect.Do(t, crs.CheckHeights(code))
	}
	expect.Do(t, crs.CheckHeights("urn:ogc:def:crs:EPSG::5773"))
}

func TestNewHeights_refuses_damaged_files(t *testing.T) {
	good := must.Get(os.ReadFile(filepath.Join(testGrids, "egm96_15.gtx")))(t)
	change := func(at int, b ...byte) []byte {
		out := append([]byte(nil), good...)
		copy(out[at:], b)
		return out
	}
	for name, c := range map[string]struct {
		raw []byte
		has string
	}{
		"empty":        {nil, "byte 0: the file has 0 bytes"},
		"head_only":    {good[:40], "after its head"},
		"truncated":    {good[:len(good)-1], "byte 32: it has 19 rows and 36 columns, which are 2736 bytes, and the file has 2735"},
		"longer":       {append(change(0), 0), "after its head"},
		"giant_counts": {change(32, 0x7f, 0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff), "2147483647 rows and 2147483647 columns"},
		"negative":     {change(32, 0xff, 0xff, 0xff, 0xff), "-1 rows"},
		"one_row":      {change(32, 0, 0, 0, 1), "1 rows"},
		"nan_origin":   {change(0, 0x7f, 0xf8, 0, 0, 0, 0, 0, 0), "which is no grid"},
		"zero_step":    {change(16, 0, 0, 0, 0, 0, 0, 0, 0), "which is no grid"},
		"infinite":     {change(24, 0x7f, 0xf0, 0, 0, 0, 0, 0, 0), "which is no grid"},
		"nan_node":     {change(44, 0x7f, 0xc0, 0, 0), "byte 44: a node has the height NaN m"},
		"huge_node":    {change(48, 0x7f, 0x7f, 0xff, 0xff), "byte 48: a node has the height"},
	} {
		t.Run(name, func(t *testing.T) {
			g := openGrids(t, folderWith(t, "egm96_15.gtx", c.raw))
			_, err := g.NewHeights(mustLookup(t, "EPSG:4326"), "EPSG:5773", "EPSG:4979", crs.OutsideRefuse)
			damaged := new(crs.GridError)
			expect.That(t, errors.As(err, &damaged) && strings.Contains(err.Error(), c.has) && strings.HasSuffix(damaged.File, "egm96_15.gtx"), "got %v, want %q", err, c.has)
		})
	}
}
