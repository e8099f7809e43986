package transform

import (
	"math"
	"strings"
	"testing"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/planar"
	"github.com/switchback-geo/switchback/pkg/classify"
)

// applied runs a geometry through rules and returns what it became and the flag.
func applied(tb testing.TB, config Config, record string) (geometry, flag string, err error) {
	tb.Helper()
	tr := mustNew(tb, config)
	f, err := tr.Apply([]byte(record))
	if err != nil {
		return "", "", err
	}
	_, rest, _ := strings.Cut(mustEncode(tb, tr, f), `"geometry":`)
	geometry, _, _ = strings.Cut(rest, `,"properties"`)
	value, _ := f.Property(DefaultFlagProperty)
	return geometry, value.Text(), nil
}

func TestRepair_S0_8(t *testing.T) {
	square := `[[0,0],[9,0],[9,9],[0,9],[0,0]]`
	cases := []struct{ name, in, want, flag string }{
		{"valid_stays", `{"type":"Polygon","coordinates":[` + square + `]}`, `{"type":"Polygon","coordinates":[` + square + `]}`, ""},
		{"bow_tie", bowTie, `{"type":"MultiPolygon","coordinates":[[[[0,0],[1,1],[0,2],[0,0]]],[[[1,1],[2,0],[2,2],[1,1]]]]}`,
			"repaired ring_not_simple near 1 1 (/geometry/coordinates/0), area 0 to 2"},
		{"spike", `{"type":"Polygon","coordinates":[[[0,0],[4,0],[4,4],[6,6],[4,4],[0,4],[0,0]]]}`, `{"type":"Polygon","coordinates":[[[0,0],[4,0],[4,4],[0,4],[0,0]]]}`,
			"repaired ring_not_simple near 4 4 (/geometry/coordinates/0), area 16 to 16"},
		{"ring_that_touches_itself_inside", `{"type":"Polygon","coordinates":[[[0,0],[8,0],[4,4],[2,2],[6,2],[4,4],[8,8],[0,8],[0,0]]]}`, "", "ring_not_simple"},
		{"hole_outside", `{"type":"Polygon","coordinates":[` + square + `,[[20,20],[20,21],[21,21],[20,20]]]}`,
			`{"type":"MultiPolygon","coordinates":[[` + square + `],[[[20,20],[21,21],[20,21],[20,20]]]]}`, "repaired hole_outside_shell"},
		{"hole_in_a_hole", `{"type":"Polygon","coordinates":[` + square + `,[[1,1],[1,8],[8,8],[8,1],[1,1]],[[2,2],[2,7],[7,7],[7,2],[2,2]]]}`,
			`{"type":"MultiPolygon","coordinates":[[` + square + `,[[1,1],[1,8],[8,8],[8,1],[1,1]]],[[[2,2],[7,2],[7,7],[2,7],[2,2]]]]}`, "area 7 to 57"},
		{"hole_over_the_edge", `{"type":"Polygon","coordinates":[` + square + `,[[5,5],[5,6],[15,6],[15,5],[5,5]]]}`, "", "area 71 to 83"},
		{"polygons_overlap", `{"type":"MultiPolygon","coordinates":[[` + square + `],[[[5,5],[15,5],[15,6],[5,6],[5,5]]]]}`, "", "area 91 to 87"},
		{"polygon_twice", `{"type":"MultiPolygon","coordinates":[[` + square + `],[` + square + `]]}`, "", "area 162 to 81"},
		{"in_a_collection", `{"type":"GeometryCollection","geometries":[{"type":"Point","coordinates":[0,0]},` + bowTie + `]}`, "", "area 0 to 2"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, flag, err := applied(t, Config{Geometry: GeometryRules{Validity: ValidityRepair}}, feature(c.in))
			if err != nil {
				t.Fatal(err)
			}
			if c.want != "" && got != c.want || !strings.Contains(flag, c.flag) || (c.flag == "") != (flag == "") {
				t.Errorf("got  %s, %q\nwant %s, %q", got, flag, c.want, c.flag)
			}
			if again, flag, err := applied(t, Config{Geometry: GeometryRules{Validity: ValidityReject}}, feature(got)); err != nil || again != got || flag != "" {
				t.Errorf("a second time it becomes %s, %q, %v", again, flag, err)
			}
		})
	}
}

func TestRepair_refuses_what_it_cannot_do_right(t *testing.T) {
	for name, geometry := range map[string]string{
		"heights":              `{"type":"Polygon","coordinates":[[[0,0,1],[2,2,1],[2,0,1],[0,2,1],[0,0,1]]]}`,
		"nothing_is_left":      `{"type":"Polygon","coordinates":[[[0,0],[1,1],[2,2],[0,0]]]}`,
		"line_of_one_position": `{"type":"LineString","coordinates":[[1,1],[1,1]]}`,
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := applied(t, Config{Geometry: GeometryRules{Validity: ValidityRepair}}, feature(geometry))
			e := asError(t, err)
			if e.Code != classify.CodeGeometryInvalid || !strings.Contains(e.Message, "cannot be repaired") {
				t.Errorf("got %v", e)
			}
		})
	}
	_, _, err := applied(t, Config{Geometry: GeometryRules{Validity: ValidityRepair, Types: []GeometryType{Polygon}}}, feature(bowTie))
	if e := asError(t, err); e.Code != classify.CodeGeometryType {
		t.Errorf("a repair into another type gives %v", e)
	}
}

// FuzzRepair compares the repair of rings on a small grid with the even-odd rule
// itself, asked at many places.
func FuzzRepair(f *testing.F) {
	f.Add([]byte{0, 0, 2, 2, 2, 0, 0, 2}, uint8(0))
	f.Add([]byte{0, 0, 4, 0, 4, 4, 6, 6, 4, 4, 0, 4, 1, 1, 3, 1, 2, 3}, uint8(6))
	f.Add([]byte{0, 0, 9, 0, 9, 9, 0, 9, 1, 1, 8, 1, 8, 8, 1, 8, 4, 4, 5, 4, 5, 5}, uint8(4))
	f.Fuzz(func(t *testing.T, data []byte, split uint8) {
		var rings orb.Polygon
		var ring orb.Ring
		for i := 0; i+1 < len(data) && i < 80; i += 2 {
			ring = append(ring, orb.Point{float64(data[i] % 12), float64(data[i+1] % 12)})
			if split > 2 && len(ring) == int(split) {
				rings, ring = append(rings, append(ring, ring[0])), nil
			}
		}
		if len(ring) > 2 {
			rings = append(rings, append(ring, ring[0]))
		}
		if len(rings) == 0 {
			return
		}
		polygons, ok := evenOdd(rings)
		if !ok || violationOf(orb.MultiPolygon(polygons), "") != nil {
			// Refused. On a small grid that must be rare: see TestRepair_is_rarely_refused.
			return
		}
		for x := 0.2171828; x < 12; x += 0.73141593 {
			for y := 0.1793238; y < 12; y += 0.57721566 {
				p := orb.Point{x, y}
				odd := false
				for _, ring := range rings {
					odd = odd != parity(ring, p)
				}
				if inside := planar.MultiPolygonContains(orb.MultiPolygon(polygons), p); inside != odd {
					t.Fatalf("%v is inside %v in the rings and %v in the repair\nrings %v\nrepair %v", p, odd, inside, rings, polygons)
				}
			}
		}
	})
}

// parity reports whether a ray from p crosses a ring an odd number of times.
func parity(ring orb.Ring, p orb.Point) bool {
	odd := false
	for i := 1; i < len(ring); i++ {
		a, b := ring[i-1], ring[i]
		if (a[1] > p[1]) != (b[1] > p[1]) && p[0] < a[0]+(p[1]-a[1])/(b[1]-a[1])*(b[0]-a[0]) {
			odd = !odd
		}
	}
	return odd
}

// TestRepair_is_rarely_refused: of rings that wander over a grid, and of long
// tangled ones in general position, nearly all are repaired.
func TestRepair_is_rarely_refused(t *testing.T) {
	seed := uint64(1)
	random := func() float64 {
		seed = seed*6364136223846793005 + 1442695040888963407
		return float64(seed>>11) / (1 << 53)
	}
	for _, grid := range []bool{true, false} {
		refused := 0
		for range 200 {
			var ring orb.Ring
			for range 30 {
				p := orb.Point{random() * 20, random() * 20}
				if grid {
					p = orb.Point{math.Floor(p[0]), math.Floor(p[1])}
				}
				ring = append(ring, p)
			}
			ring = append(ring, ring[0])
			polygons, ok := evenOdd(orb.Polygon{ring})
			if !ok || violationOf(orb.MultiPolygon(polygons), "") != nil {
				refused++
			}
		}
		if refused > 4 {
			t.Errorf("grid %v: %d of 200 refused", grid, refused)
		}
		t.Logf("grid %v: %d of 200 refused", grid, refused)
	}
}
