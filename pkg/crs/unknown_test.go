package crs_test

import (
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/pkg/crs"
)

// TestUnknownError_message_S1_4: a message says what the name is, why it is refused,
// and what is nearest.
func TestUnknownError_message_S1_4(t *testing.T) {
	cases := []struct {
		name, name2 string // of the test, and of the system
		has         []string
	}{
		{"typing_error", "EPSG:25382", []string{`unknown coordinate reference system "EPSG:25382"`, "EPSG:25832 (ETRS89 / UTM zone 32N)", "docs/crs.md lists all"}},
		{"no_authority", "25832", []string{"nearest that are supported: EPSG:25832"}},
		{"words", "CH1903+ / LV95", []string{"nearest that are supported: EPSG:2056"}},
		{"words_of_many", "WGS84", []string{"nearest that are supported: EPSG:4326 (WGS 84)"}},
		{"withdrawn", "EPSG:31465", []string{"it is DHDN / 3-degree Gauss zone 5, for which EPSG has EPSG:31469 today", "supported: EPSG:31469"}},
		{"google", "EPSG:900913", []string{"for which EPSG has EPSG:3857 today"}},
		{"esri", "ESRI:102008", []string{
			"North_America_Albers_Equal_Area_Conic, which the EPSG dataset does not define; transform the data to a system with an EPSG code",
			"EPSG:3347 (NAD83 / Statistics Canada Lambert)",
		}},
		{"esri_as_epsg", "EPSG:102008", []string{"EPSG has no such code; it is ESRI's code of North_America_Albers_Equal_Area_Conic"}},
		{"esri_that_epsg_has", "ESRI:102100", []string{"for which EPSG has EPSG:3857 today", "supported: EPSG:3857"}},
		{"feet", "EPSG:2263", []string{"NAD83 / New York Long Island (ftUS), whose unit is not the metre", "EPSG:26918 (NAD83 / UTM zone 18N)"}},
		{"axes", "EPSG:5513", []string{"S-JTSK / Krovak, whose axes do not point east and north", "EPSG:5514"}},
		{"method", "EPSG:26931", []string{"NAD83 / Alaska zone 1, whose projection method is not supported", "supported: EPSG:3338 (NAD83 / Alaska Albers)"}},
		{"datum", "EPSG:6347", []string{"whose datum is not supported", "EPSG:26918 (NAD83 / UTM zone 18N)"}},
		{"not_compared", "EPSG:2105", []string{"Mount Eden 2000, which has not been compared with PROJ", "EPSG:2193"}},
		{"heights", "EPSG:4979", []string{"WGS 84 with heights", "supported: EPSG:4326"}},
		{"compound", "EPSG:7415", []string{"which has heights; name the system of its plane", "supported: EPSG:28992"}},
		{"vertical", "EPSG:5773", []string{"a system of heights alone"}},
		{"geocentric", "urn:ogc:def:crs:EPSG::4978", []string{"which is geocentric"}},
		{"antimeridian", "EPSG:26901", []string{"NAD83 / UTM zone 1N", "EPSG:3338"}},
		{"nothing", "nonsense", []string{`unknown coordinate reference system "nonsense"; write such as EPSG:25832`}},
		{"huge_number", "EPSG:99999999999999999999", []string{"write such as"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := crs.Lookup(c.name2)
			for _, want := range c.has {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%v\nhas no %q", err, want)
				}
			}
		})
	}
}

func TestNear(t *testing.T) {
	cases := []struct {
		name, first string
		why         crs.Nearness
	}{
		{"EPSG:3785", "EPSG:3857", crs.NearReplaces},
		{"EPSG:5676", "EPSG:31466", crs.NearDatum},
		{"EPSG:5243", "EPSG:4647", crs.NearDatum},
		{"ESRI:102008", "EPSG:4269", crs.NearArea},
		{"LV95", "EPSG:2056", crs.NearName},
		{"EPSG:2583", "EPSG:25830", crs.NearCode},
		{"EPSG:225832", "EPSG:25832", crs.NearCode},
		{"EPSG:52832", "EPSG:25832", crs.NearCode},
		{"EPSG:32762", "EPSG:32761", crs.NearCode},
	}
	for _, c := range cases {
		got := crs.Near(c.name, 3)
		switch {
		case c.why == "" && len(got) == 0:
		case len(got) == 0 || len(got) > 3:
			t.Errorf("%s: %v", c.name, got)
		case c.why != "" && (got[0].Why != c.why || c.first != got[0].Code):
			t.Errorf("%s: %v, want %s first because of %s", c.name, got, c.first, c.why)
		}
	}
	if got := crs.Near("EPSG:25382", 0); len(got) != 0 {
		t.Errorf("none were asked for: %v", got)
	}
}
