package transform

import (
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
)

const bowTie = `{"type":"Polygon","coordinates":[[[0,0],[2,2],[2,0],[0,2],[0,0]]]}`

func withCRS(crs string) string {
	return `{"type":"Feature","id":1,"crs":` + crs + `,"geometry":{"type":"Point","coordinates":[1,2]},"properties":null}`
}

func TestGate(t *testing.T) {
	polygonsOnly := GeometryRules{Types: []GeometryType{Polygon, MultiPolygon}}
	point := feature(`{"type":"Point","coordinates":[1,2]}`)
	for _, c := range []struct {
		name, in string
		rules    GeometryRules
		code     classify.Code // empty: it passes
		rule     Rule
		path     string
	}{
		{"S1-4_no_crs", point, GeometryRules{}, "", "", ""},
		{"S1-4_crs_urn_epsg", withCRS(`{"type":"name","properties":{"name":"urn:ogc:def:crs:EPSG::4326"}}`), GeometryRules{}, "", "", ""},
		{"S1-4_crs_code", withCRS(`{"type":"EPSG","properties":{"code":4326}}`), GeometryRules{}, "", "", ""},
		{"S1-4_crs_as_a_string", withCRS(`"OGC:CRS84"`), GeometryRules{}, "", "", ""},
		{"S1-4_crs_projected", withCRS(`{"type":"name","properties":{"name":"urn:ogc:def:crs:EPSG::25832"}}`), GeometryRules{}, classify.CodeCRSConflict, RuleCRS, "/crs"},
		{"S1-4_crs_null", withCRS(`null`), GeometryRules{}, classify.CodeUnknownCRS, RuleCRS, "/crs"},
		{"S1-4_crs_link", withCRS(`{"type":"link","properties":{"href":"http://example.com/crs"}}`), GeometryRules{}, classify.CodeUnknownCRS, RuleCRS, "/crs"},
		{"S1-4_crs_of_the_geometry", feature(`{"type":"Point","coordinates":[1,2],"crs":{"type":"name","properties":{"name":"EPSG:3857"}}}`), GeometryRules{}, classify.CodeCRSConflict, RuleCRS, "/crs"},
		{"S1-4_crs_before_all_else", `{"type":"Feature","crs":"EPSG:3857","geometry":` + bowTie + `,"properties":null}`, GeometryRules{}, classify.CodeCRSConflict, RuleCRS, "/crs"},

		{"S0-8_null_geometry", feature(`null`), GeometryRules{}, "", "", ""},
		{"S0-8_null_geometry_rejected", feature(`null`), GeometryRules{NullGeometry: Reject}, classify.CodeGeometryEmpty, RuleNullGeometry, "/geometry"},
		{"S0-8_is_empty", feature(`{"type":"Polygon","coordinates":[]}`), GeometryRules{}, classify.CodeGeometryEmpty, RuleEmptyGeometry, "/geometry"},
		{"S0-8_is_empty_parts", feature(`{"type":"GeometryCollection","geometries":[{"type":"MultiPolygon","coordinates":[[]]}]}`), GeometryRules{}, classify.CodeGeometryEmpty, RuleEmptyGeometry, "/geometry"},
		{"S0-8_is_empty_accepted", feature(`{"type":"Polygon","coordinates":[]}`), GeometryRules{EmptyGeometry: Accept}, "", "", ""},
		{"S0-8_type_listed", feature(`{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,0]]]}`), polygonsOnly, "", "", ""},
		{"S0-8_type_not_listed", point, polygonsOnly, classify.CodeGeometryType, RuleGeometryType, "/geometry/type"},
		{"S0-8_null_has_no_type", feature(`null`), polygonsOnly, "", "", ""},

		{"S1-4_projected_metres", feature(`{"type":"Point","coordinates":[389213.5,5819123.25]}`), GeometryRules{}, classify.CodeCoordinateRange, RuleRange, "/geometry/coordinates"},
		{"S0-8_latitude_91", feature(`{"type":"LineString","coordinates":[[0,0],[170,91]]}`), GeometryRules{}, classify.CodeCoordinateRange, RuleRange, "/geometry/coordinates/1"},
		{"S0-8_longitude_in_a_collection", feature(`{"type":"GeometryCollection","geometries":[{"type":"Point","coordinates":[1,1]},{"type":"MultiPolygon","coordinates":[[],[[[0,0],[1,0],[1,1],[0,0]],[[0,0],[1,0],[181,1],[0,0]]]]}]}`), GeometryRules{EmptyGeometry: Accept}, classify.CodeCoordinateRange, RuleRange, "/geometry/geometries/1/coordinates/1/1/2"},
		{"S0-8_at_the_edge", feature(`{"type":"MultiPoint","coordinates":[[180,90],[-180,-90],[180.00000000000003,0]]}`), GeometryRules{}, "", "", ""},

		{"S0-8_is_valid", feature(`{"type":"Polygon","coordinates":[[[0,0],[0,1],[1,1],[0,0]]]}`), GeometryRules{}, "", "", ""},
		{"S0-8_is_valid_bow_tie", feature(bowTie), GeometryRules{}, classify.CodeGeometryInvalid, RuleRingSimple, "/geometry/coordinates/0"},
		{"S0-8_is_valid_flagged", feature(bowTie), GeometryRules{Validity: ValidityFlag}, "", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr := mustNew(t, Config{Geometry: c.rules})
			err := gateError(t, tr, mustDecode(t, tr, c.in))
			if c.code == "" {
				expect.That(t, err == nil, "refused: %v", err)
				return
			}
			must.That(t, err != nil, "it passes")
			e := asError(t, err)
			expect.That(t, e.Code == c.code && e.Rule == string(c.rule) && e.Path == c.path && e.Stage == classify.StageGate && e.Fix != "",
				"got %s, %s at %q of stage %s: %v", e.Code, e.Rule, e.Path, e.Stage, err)
			failure := classify.Of(err)
			expect.That(t, !failure.Transient(), "S1-2: it would be tried again: %+v", failure)
		})
	}
}
