package transform

import (
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
)

// geometryOf runs a geometry through a mapping.
func geometryOf(tb testing.TB, config Config, geometry string) (string, error) {
	tb.Helper()
	tr := mustNew(tb, config)
	f, err := tr.Apply(tb.Context(), []byte(feature(geometry)))
	if err != nil {
		return "", err
	}
	_, rest, _ := strings.Cut(mustEncode(tb, tr, f), `"geometry":`)
	out, _, _ := strings.Cut(rest, `,"properties"`)
	return out, nil
}

func TestPrecision(t *testing.T) {
	for _, c := range []struct {
		name     string
		decimals int
		in, want string
	}{
		{"rounds", 2, `{"type":"Point","coordinates":[1.23456,-7.891]}`, `{"type":"Point","coordinates":[1.23,-7.89]}`},
		{"half_away_from_zero", 0, `{"type":"MultiPoint","coordinates":[[0.5,-0.5],[1.5,-1.5],[2.5,-2.5]]}`, `{"type":"MultiPoint","coordinates":[[1,-1],[2,-2],[3,-3]]}`},
		{"no_negative_zero", 1, `{"type":"Point","coordinates":[-0.04,-0.01]}`, `{"type":"Point","coordinates":[0,0]}`},
		{"heights_stay", 1, `{"type":"Point","coordinates":[1.26,2.22,3.33333]}`, `{"type":"Point","coordinates":[1.3,2.2,3.33333]}`},
		{"15_decimals", 15, `{"type":"Point","coordinates":[179.123456789012345,1]}`, `{"type":"Point","coordinates":[179.12345678901235,1]}`},
		{"collection", 0, `{"type":"GeometryCollection","geometries":[{"type":"Point","coordinates":[1.4,1]},{"type":"MultiLineString","coordinates":[[[1.2,1],[2.2,2]]]}]}`,
			`{"type":"GeometryCollection","geometries":[{"type":"Point","coordinates":[1,1]},{"type":"MultiLineString","coordinates":[[[1,1],[2,2]]]}]}`},
		{"repeated_positions_stay", 0, `{"type":"LineString","coordinates":[[0,0],[0.1,0],[5,5]]}`, `{"type":"LineString","coordinates":[[0,0],[0,0],[5,5]]}`},
	} {
		t.Run("S0-3_"+c.name, func(t *testing.T) {
			got, err := geometryOf(t, Config{Geometry: GeometryRules{RoundDecimals: &c.decimals}}, c.in)
			must.That(t, err == nil && got == c.want, "got %s, %v; want %s", got, err, c.want)
			if again, err := geometryOf(t, Config{Geometry: GeometryRules{RoundDecimals: &c.decimals}}, got); err != nil || again != got {
				t.Errorf("a second time it becomes %s, %v", again, err)
			}
		})
	}
}

// TestCollapse: rounding never leaves a ring or a line of nothing behind.
func TestCollapse(t *testing.T) {
	decimals := 0
	for _, c := range []struct{ name, in, path string }{
		{"ring_to_a_point", `{"type":"Polygon","coordinates":[[[0,0],[0.1,0],[0.1,0.1],[0,0]]]}`, "/geometry/coordinates/0"},
		{"ring_to_a_line", `{"type":"Polygon","coordinates":[[[0,0],[5,0],[5,0.4],[0,0.4],[0,0]]]}`, "/geometry/coordinates/0"},
		{"hole", `{"type":"MultiPolygon","coordinates":[[[[0,0],[9,0],[9,9],[0,9],[0,0]],[[1,1],[1.1,1.1],[1.1,1],[1,1]]]]}`, "/geometry/coordinates/0/1"},
		{"line", `{"type":"GeometryCollection","geometries":[{"type":"LineString","coordinates":[[0,0],[0.1,0.1]]}]}`, "/geometry/geometries/0/coordinates"},
	} {
		t.Run("S0-3_"+c.name, func(t *testing.T) {
			_, err := geometryOf(t, Config{Geometry: GeometryRules{RoundDecimals: &decimals, OutputValidity: OutputReject}}, c.in)
			must.That(t, err != nil, "reject lets it pass")
			e := asError(t, err)
			expect.That(t, e.Code == classify.CodeGeometryInvalid && e.Rule == string(RuleCollapsed) && e.Path == c.path && e.Stage == classify.StageTransform,
				"got %s, %s at %s of %s", e.Code, e.Rule, e.Path, e.Stage)
			flag := Config{Geometry: GeometryRules{RoundDecimals: &decimals, OutputValidity: OutputFlag}}
			if got, err := geometryOf(t, flag, c.in); err != nil || got != c.in {
				t.Errorf("flag gives %s, %v; want it unrounded", got, err)
			}
			properties, err := apply(t, flag, feature(c.in))
			want := `{"switchback_geometry_invalid":"collapsed_by_precision (` + c.path + `)"}`
			expect.That(t, err == nil && properties == want, "flag gives %s, %v; want %s", properties, err, want)
		})
	}
}

func TestWinding(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"right_already", `{"type":"Polygon","coordinates":[[[0,0],[9,0],[9,9],[0,0]],[[2,1],[3,2],[3,1],[2,1]]]}`, ""},
		{"exterior", `{"type":"Polygon","coordinates":[[[0,0],[9,9],[9,0],[0,0]]]}`, `{"type":"Polygon","coordinates":[[[0,0],[9,0],[9,9],[0,0]]]}`},
		{"hole", `{"type":"Polygon","coordinates":[[[0,0],[9,0],[9,9],[0,0]],[[2,1],[3,1],[3,2],[2,1]]]}`, `{"type":"Polygon","coordinates":[[[0,0],[9,0],[9,9],[0,0]],[[2,1],[3,2],[3,1],[2,1]]]}`},
		{"heights_go_along", `{"type":"GeometryCollection","geometries":[{"type":"Point","coordinates":[5,5,5]},{"type":"MultiPolygon","coordinates":[[[[0,0,1],[9,0,2],[9,9,3],[0,0,1]]],[[[20,20,4],[21,21],[21,20,6],[20,20,4]]]]},{"type":"LineString","coordinates":[[1,2,7],[3,4,8]]}]}`,
			`{"type":"GeometryCollection","geometries":[{"type":"Point","coordinates":[5,5,5]},{"type":"MultiPolygon","coordinates":[[[[0,0,1],[9,0,2],[9,9,3],[0,0,1]]],[[[20,20,4],[21,20,6],[21,21],[20,20,4]]]]},{"type":"LineString","coordinates":[[1,2,7],[3,4,8]]}]}`},
	} {
		t.Run("S0-8_"+c.name, func(t *testing.T) {
			want := c.want
			if want == "" {
				want = c.in
			}
			got, err := geometryOf(t, Config{}, c.in)
			expect.That(t, err == nil && got == want, "got  %s, %v\nwant %s", got, err, want)
		})
	}
}

// roundedTo is the rules with a number of decimals; nil for none.
func roundedTo(rules GeometryRules, decimals *int) GeometryRules {
	rules.RoundDecimals = decimals
	return rules
}
