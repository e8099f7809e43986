package crs_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
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

// TestLookup_unknown: a name that is not known is an error that lists what is, and
// is never taken for something else (S1-4).
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
		expect.That(t, unknown.Name == name && slices.Contains(unknown.Supported(), "EPSG:32601-32660"), "%q: error has the name %q and lists %q", name, unknown.Name, unknown.Supported())
		expect.That(t, len(err.Error()) <= 600, "%q: the message has %d bytes", name, len(err.Error()))
	}
}

// TestCodes: the list is whole, and every code of it can be looked up in each form.
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

// Each point of the area of use of a projected system is guessed to be of it.
func TestGuess_names_the_system_that_it_was(t *testing.T) {
	for _, set := range readVectors(t) {
		if mustLookup(t, set.Code).Unit() == crs.Degree {
			continue
		}
		for _, p := range set.Points[:20] {
			if math.Abs(p[2]) < 360 && math.Abs(p[3]) < 90 {
				continue
			}
			found := false
			for _, candidate := range crs.Guess(p[2], p[3]) {
				found = found || slices.Contains(candidate.Codes, set.Code)
			}
			if !found {
				// The edge of the area in WGS 84 is not quite that of another datum.
				c := mustLookup(t, set.Code)
				expect.That(t, !c.Contains(p[2], p[3]), "%s does not recognise %v", set.Code, p)
			}
		}
	}
}

// The error names what a mistyped, withdrawn or next code may have meant.
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
