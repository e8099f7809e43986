package envelope_test

import (
	"errors"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/envelope"
	"github.com/switchback-geo/switchback/pkg/transform"
)

func transformError(t *testing.T, err error) *transform.Error {
	t.Helper()
	var e *transform.Error
	must.That(t, errors.As(err, &e), "%T is no *transform.Error: %v", err, err)
	return e
}

// fg writes a JSON-FG feature.
func fg(geometry, more string) string {
	return `{"type":"Feature","id":"a","conformsTo":["x"],"geometry":` + geometry + `,"properties":null` + more + `}`
}

func TestJSONFG(t *testing.T) {
	const point, kept = `{"type":"Point","coordinates":[8.5,47.25]}`, `,"properties":null,"conformsTo":["x"]`
	out := func(geometry, more string) string {
		return `{"type":"Feature","id":"a","geometry":` + geometry + kept + more + `}`
	}
	for _, c := range []struct{ name, value, want string }{
		{"geometry_alone", fg(point, ""), out(point, "")},
		{"null_place", fg(point, `,"place":null,"coordRefSys":"http://www.opengis.net/def/crs/EPSG/0/25832"`), out(point, "")},
		{"time_stays", fg(point, `,"time":{"interval":["2026-11-03",".."]}`), out(point, `,"time":{"interval":["2026-11-03",".."]}`)},
		{"place_in_CRS84", fg("null", `,"place":`+point), out(point, "")},
		{"place_with_heights", fg("null", `,"place":{"type":"Point","coordinates":[8.5,47.25,440]},"coordRefSys":"http://www.opengis.net/def/crs/OGC/0/CRS84h"`),
			out(`{"type":"Point","coordinates":[8.5,47.25,440]}`, "")},
		{"latitude_first", fg("null", `,"place":{"type":"Point","coordinates":[47.25,8.5]},"coordRefSys":"http://www.opengis.net/def/crs/EPSG/0/4326"`), out(point, "")},
		{"latitude_first_everywhere", fg("null", `,"place":{"type":"GeometryCollection","geometries":[{"type":"Point","coordinates":[47.25,8.5]},`+
			`{"type":"MultiPolygon","coordinates":[[[[0,1],[2,1],[2,3],[0,1]]]]},{"type":"MultiLineString","coordinates":[[[0,1],[2,3]]]},{"type":"MultiPoint","coordinates":[[0,1]]},`+
			`{"type":"LineString","coordinates":[[0,1],[2,3]]}]},"coordRefSys":"[EPSG:4326]"`),
			out(`{"type":"GeometryCollection","geometries":[`+point+`,{"type":"MultiPolygon","coordinates":[[[[1,0],[1,2],[3,2],[1,0]]]]},`+
				`{"type":"MultiLineString","coordinates":[[[1,0],[3,2]]]},{"type":"MultiPoint","coordinates":[[1,0]]},{"type":"LineString","coordinates":[[1,0],[3,2]]}]}`, "")},
		{"place_wins", fg(`{"type":"Point","coordinates":[0,0]}`, `,"bbox":[0,0,0,0],"place":`+point), out(point, "")},
		{"reference_object", fg("null", `,"place":`+point+`,"coordRefSys":{"type":"Reference","href":"http://www.opengis.net/def/crs/OGC/1.3/CRS84"}`), out(point, "")},
		{"system_of_the_place_itself", fg("null", `,"place":{"type":"Point","coordinates":[47.25,8.5],"coordRefSys":"[EPSG:4326]"},"coordRefSys":"[EPSG:25832]"`), out(point, "")},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := opener(t, envelope.Options{Format: envelope.JSONFG}).Open(t.Context(), nil, []byte(c.value))
			must.Do(t, err)
			expect.That(t, text(t, got) == c.want, "\n got %s\nwant %s", text(t, got), c.want)
			if _, err := transformer(t).Gate(t.Context(), got.Feature); err != nil {
				t.Errorf("gate: %v", err)
			}
		})
	}
}

func TestJSONFGRefuses(t *testing.T) {
	const point, prism = `{"type":"Point","coordinates":[8.5,47.25]}`, `{"type":"Prism","base":{"type":"Point","coordinates":[8.5,47.25]},"lower":1}`
	for _, c := range []struct {
		name, value      string
		code             classify.Code
		rule, path, says string
	}{
		{"prism", fg("null", `,"place":`+prism), classify.CodeUnsupportedGeometry, "place_type", "/place/type", "Prism"},
		{"prism_beside_a_geometry", fg(point, `,"place":`+prism), classify.CodeUnsupportedGeometry, "place_type", "/place/type", "unsupported: geometry"},
		{"curve_in_a_collection", fg("null", `,"place":{"type":"GeometryCollection","geometries":[`+point+`,{"type":"CircularString","coordinates":[]}]}`),
			classify.CodeUnsupportedGeometry, "place_type", "/place/geometries/1/type", "CircularString"},
		{"measures", fg("null", `,"place":{"type":"Point","coordinates":[1,2,3],"measures":{"enabled":true}}`), classify.CodeUnsupportedGeometry, "place_measures", "/place/measures", ""},
		{"unknown_system", fg("null", `,"place":`+point+`,"coordRefSys":"http://www.opengis.net/def/crs/EPSG/0/31465"`), classify.CodeUnknownCRS, "place_crs", "/coordRefSys", ""},
		{"compound_system", fg("null", `,"place":`+point+`,"coordRefSys":["[EPSG:4326]","[EPSG:5773]"]`), classify.CodeUnknownCRS, "place_crs", "/coordRefSys", "compound"},
		{"epoch", fg("null", `,"place":`+point+`,"coordRefSys":{"type":"Reference","href":"[EPSG:4326]","epoch":2016.4}`), classify.CodeUnknownCRS, "place_crs", "/coordRefSys", "epoch"},
		{"system_that_is_no_name", fg("null", `,"place":`+point+`,"coordRefSys":4326`), classify.CodeUnknownCRS, "place_crs", "/coordRefSys", "URI"},
		{"two_systems", fg("null", `,"place":{"type":"GeometryCollection","geometries":[{"type":"Point","coordinates":[1,2],"coordRefSys":"[EPSG:4326]"}]}`),
			classify.CodeUnknownCRS, "place_crs", "/place/geometries/0/coordRefSys", ""},
		{"S0-8_unclosed_ring", fg("null", `,"place":{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,1]]]}`), classify.CodeGeometryStructure, "ring_closed", "/place/coordinates/0", ""},
		{"place_of_no_type", fg("null", `,"place":{"type":"Circle","coordinates":[1,2]}`), classify.CodeGeometryType, "type_word", "/place/type", ""},
		{"time", fg(point, `,"time":{"timestamp":"2026-11-03T04:05:06+01:00"}`), classify.CodeEnvelopeMalformed, "time", "/time/timestamp", "UTC"},
		{"date", fg(point, `,"time":{"date":"2026-13-01"}`), classify.CodeEnvelopeMalformed, "time", "/time/date", ""},
		{"interval", fg(point, `,"time":{"interval":["..",7]}`), classify.CodeEnvelopeMalformed, "time", "/time/interval", ""},
		{"interval_of_one", fg(point, `,"time":{"interval":[".."]}`), classify.CodeEnvelopeMalformed, "time", "/time/interval", "two ends"},
		{"time_that_is_no_object", fg(point, `,"time":"2026"`), classify.CodeEnvelopeMalformed, "time", "/time", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := opener(t, envelope.Options{Format: envelope.JSONFG}).Open(t.Context(), nil, []byte(c.value))
			refused(t, err, c.code, c.rule, c.path, c.says)
			e := transformError(t, err)
			expect.That(t, e.Feature == "a" || c.name == "place_of_no_type" || c.name == "S0-8_unclosed_ring", "the fault does not say whose it is: %+v", e)
		})
	}
}

// TestJSONFG_fallback: with the word of the config, the geometry stands in for a
// place that has no form; without a geometry it is refused all the same.
func TestJSONFG_fallback(t *testing.T) {
	const point, prism = `{"type":"Point","coordinates":[8.5,47.25]}`, `,"place":{"type":"Prism","base":null}`
	o := opener(t, envelope.Options{Format: envelope.JSONFG, Unsupported: envelope.UnsupportedGeometry})
	got, err := o.Open(t.Context(), nil, []byte(fg(point, prism)))
	want := `{"type":"Feature","id":"a","geometry":` + point + `,"properties":null,"conformsTo":["x"]}`
	expect.That(t, err == nil && text(t, got) == want, "got %+v, %v", got, err)
	_, err = o.Open(t.Context(), nil, []byte(fg("null", prism)))
	refused(t, err, classify.CodeUnsupportedGeometry, "place_type", "/place/type", "")
	_, err = o.Open(t.Context(), nil, []byte(fg(point, `,"place":{"type":"Point","coordinates":[1]}`)))
	e := transformError(t, err)
	expect.That(t, e.Code == classify.CodeGeometryStructure, "a place that is broken is no place without a form: %v", err)
}
