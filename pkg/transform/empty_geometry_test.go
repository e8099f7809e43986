package transform

import (
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// S0-8: a geometry without positions is mapped in the same way whatever was read before it, stays a geometry of its
// type, and stays a member of its collection.
func TestEmptyGeometry_S0_8_dependsOnNothingBefore(t *testing.T) {
	t.Parallel()
	two := 2
	for _, empty := range []string{
		`{"type":"Point","coordinates":[]}`, `{"type":"MultiPoint","coordinates":[]}`, `{"type":"LineString","coordinates":[]}`,
		`{"type":"MultiLineString","coordinates":[]}`, `{"type":"Polygon","coordinates":[]}`, `{"type":"MultiPolygon","coordinates":[]}`,
		`{"type":"GeometryCollection","geometries":[]}`,
	} {
		for _, in := range []string{empty, `{"type":"GeometryCollection","geometries":[` + empty + `]}`} {
			cfg := Config{Geometry: GeometryRules{RoundDecimals: &two, EmptyGeometry: Accept}}
			mapped := func(tr *Transformer) (written, canonical string) {
				f := must.Get(tr.Apply(t.Context(), []byte(feature(in))))(t)
				return string(must.Get(tr.Encode(f))(t)), string(Canonical(f))
			}
			first, form := mapped(must.Get(New(cfg))(t))
			later := must.Get(New(cfg))(t)
			must.Get(later.Apply(t.Context(), []byte(feature(`{"type":"LineString","coordinates":[[1,2],[3,4]]}`))))(t)
			second, formLater := mapped(later)
			expect.That(t, strings.Contains(first, `"geometry":`+in), "mapped first: %s, want %s", first, in)
			expect.That(t, second == first && formLater == form, "mapped later: %s, want %s; canonical forms %x and %x", second, first, formLater, form)
		}
	}
}

// S0-8: a point without a position has no height, so a repair gives the other members of its collection their own.
func TestEmptyGeometry_S0_8_takesNoHeight(t *testing.T) {
	t.Parallel()
	three := 3
	const bow = `{"type":"Polygon","coordinates":[[[0,0,1],[2,2,1],[2,0,1],[0,2,1],[0,0,1]]]}`
	const line = `{"type":"LineString","coordinates":[[5,5,7],[6,6,8]]}`
	in := feature(`{"type":"GeometryCollection","geometries":[` + bow + `,{"type":"Point","coordinates":[]},` + line + `]}`)
	for name, rules := range map[string]GeometryRules{
		"repaired": {Validity: ValidityRepair, EmptyGeometry: Accept},
		"rounded":  {Validity: ValidityRepair, EmptyGeometry: Accept, RoundDecimals: &three},
	} {
		tr := must.Get(New(Config{Geometry: rules}))(t)
		mapped := string(must.Get(tr.Encode(must.Get(tr.Apply(t.Context(), []byte(in)))(t)))(t))
		expect.That(t, strings.Contains(mapped, `{"type":"Point","coordinates":[]},`+line), "%s: %s", name, mapped)
	}
}
