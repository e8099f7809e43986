package crs_test

import (
	"math"
	"slices"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/pkg/crs"
)

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
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, candidate := range crs.Guess(c.x, c.y) {
				got = append(got, candidate.String())
			}
			expect.That(t, (c.want != nil || len(got) == 0) && len(got) >= len(c.want) && slices.Equal(got[:len(c.want)], c.want), "got  %q\nwant %q first", got, c.want)
		})
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
