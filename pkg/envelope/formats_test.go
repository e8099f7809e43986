package envelope_test

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"github.com/linkedin/goavro/v2"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/envelope"
	"github.com/switchback-geo/switchback/pkg/geometry"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// Rows and deletes are read with and without schema and envelope.
func TestDebezium(t *testing.T) {
	wkb := base64.StdEncoding.EncodeToString(ewkb(t, geometry.EWKB))
	row := `{"id":7,"owner":"Keller","geometry":{"wkb":"` + wkb + `","srid":4326}}`
	const want = `{"type":"Feature","id":7,"geometry":{"type":"Point","coordinates":[8.5,47.25,440]},"properties":{"owner":"Keller"}}`
	const source = `,"source":{"lsn":1},"ts_ms":5`
	for _, c := range []struct {
		name, value string
		options     envelope.DebeziumOptions
		want        string
	}{
		{"created", `{"before":null,"after":` + row + `,"op":"c"` + source + `}`, envelope.DebeziumOptions{}, want},
		{"updated", `{"before":{"id":7},"after":` + row + `,"op":"u"` + source + `}`, envelope.DebeziumOptions{}, want},
		{"read_with_schema", `{"schema":{"type":"struct"},"payload":{"before":null,"after":` + row + `,"op":"r"` + source + `}}`, envelope.DebeziumOptions{}, want},
		{"deleted", `{"before":` + row + `,"after":null,"op":"d"` + source + `}`, envelope.DebeziumOptions{}, "delete 7"},
		{"deleted_without_the_row", `{"before":null,"after":null,"op":"d"}`, envelope.DebeziumOptions{}, "delete "},
		{"unwrapped", row[:len(row)-1] + `,"__deleted":"false","__op":"u"}`, envelope.DebeziumOptions{Unwrapped: true}, want},
		{"unwrapped_delete", `{"id":7,"owner":null,"geometry":null,"__deleted":"true"}`, envelope.DebeziumOptions{Unwrapped: true}, "delete 7"},
		{"null_geometry", `{"after":{"id":7,"owner":"Keller","geometry":null},"op":"c"}`, envelope.DebeziumOptions{}, `{"type":"Feature","id":7,"geometry":null,"properties":{"owner":"Keller"}}`},
		{"srid_of_the_struct_only", `{"after":{"id":7,"geometry":{"wkb":"AQEAAAAAAAAAAAAhQAAAAAAAoEdA","srid":4326}},"op":"c"}`, envelope.DebeziumOptions{}, `{"type":"Feature","id":7,"geometry":{"type":"Point","coordinates":[8.5,47.25]},"properties":{}}`},
		{"no_srid", `{"after":{"id":7,"geometry":{"wkb":"AQEAAAAAAAAAAAAhQAAAAAAAoEdA","srid":null}},"op":"c"}`, envelope.DebeziumOptions{}, `{"type":"Feature","id":7,"geometry":{"type":"Point","coordinates":[8.5,47.25]},"properties":{}}`},
	} {
		got := must.Get(opener(t, envelope.Options{Format: envelope.Debezium, Debezium: c.options}).Open(t.Context(), nil, []byte(c.value)))(t)
		expect.That(t, text(t, got) == c.want && got.Format == envelope.Debezium, "%v: got %s", c.name, text(t, got))
	}
}

// The same event is read from Avro.
func TestDebezium_Avro(t *testing.T) {
	s := schema(t, `{"type":"record","name":"Envelope","namespace":"db.public.parcel","fields":[`+
		`{"name":"before","type":["null",{"type":"record","name":"Value","fields":[{"name":"id","type":"int"},`+
		`{"name":"geometry","type":["null",{"type":"record","name":"Geometry","namespace":"io.debezium.data.geometry","fields":[{"name":"wkb","type":"bytes"},{"name":"srid","type":["null","int"]}]}]}]}]},`+
		`{"name":"after","type":["null","Value"]},{"name":"op","type":"string"}]}`)
	row := map[string]any{"id": 7, "geometry": goavro.Union("io.debezium.data.geometry.Geometry", map[string]any{"wkb": ewkb(t, geometry.EWKB), "srid": nil})}
	o := opener(t, envelope.Options{Format: envelope.Debezium, Debezium: envelope.DebeziumOptions{Serialization: envelope.SerializationAvro}, Registry: registry{1: s}})
	for want, native := range map[string]map[string]any{
		`{"type":"Feature","id":7,"geometry":{"type":"Point","coordinates":[8.5,47.25,440]},"properties":{}}`: {"before": nil, "after": goavro.Union("db.public.parcel.Value", row), "op": "c"},
		"delete 7": {"before": goavro.Union("db.public.parcel.Value", row), "after": nil, "op": "d"},
	} {
		got, err := o.Open(t.Context(), nil, confluent(t, s, 1, native))
		expect.That(t, err == nil && text(t, got) == want, "got %+v, %v; want %s", got, err, want)
	}
}

func TestDebeziumRefuses(t *testing.T) {
	for _, c := range []struct {
		name, value      string
		code             classify.Code
		rule, path, says string
	}{
		{"no_op", `{"id":7}`, classify.CodeEnvelopeMalformed, "operation", "", "unwrapped: true"},
		{"truncate", `{"op":"t"}`, classify.CodeEnvelopeMalformed, "operation", "/op", "truncated"},
		{"message", `{"op":"m"}`, classify.CodeEnvelopeMalformed, "operation", "/op", ""},
		{"no_row", `{"schema":null,"payload":{"op":"u","after":null}}`, classify.CodeEnvelopeMalformed, "operation", "/payload/after", ""},
		{"array", `[]`, classify.CodeEnvelopeMalformed, "not_a_record", "", "an array"},
		{"null_payload", `{"schema":null,"payload":null}`, classify.CodeEnvelopeMalformed, "not_a_record", "/payload", "null"},
		{"no_JSON", `{`, classify.CodeTruncatedJSON, "truncated", "", ""},
		{"contradiction", `{"op":"c","after":{"geometry":{"srid":3857,"wkb":"AQEAACDmEAAAAAAAAAAAAAAAAAAAAAAAAA=="}}}`, classify.CodeUnknownCRS, "srid_conflict", "/after/geometry/wkb", "SRID 3857"},
		{"srid_of_another_type", `{"op":"c","after":{"geometry":{"srid":"4326","wkb":"AA=="}}}`, classify.CodeUnknownCRS, "column", "/after/geometry/srid", ""},
		{"wkb_that_is_no_base64", `{"op":"c","after":{"geometry":{"srid":null,"wkb":"0101"}}}`, classify.CodeWKBMalformed, "byte_order", "/after/geometry/wkb", ""},
		{"half_a_point", `{"op":"c","after":{"geometry":{"x":8.5,"wkb":null}}}`, classify.CodeWrongType, "column", "/after/geometry", "x and y"},
		{"a_point_of_text", `{"op":"c","after":{"geometry":{"x":"8.5","y":47.25,"wkb":null}}}`, classify.CodeWrongType, "column", "/after/geometry", "x and y"},
		{"wkb_that_is_an_object", `{"op":"c","after":{"geometry":{"srid":null,"wkb":{}}}}`, classify.CodeWrongType, "column", "/after/geometry/wkb", "an object"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := opener(t, envelope.Options{Format: envelope.Debezium}).Open(t.Context(), nil, []byte(c.value))
			refused(t, err, c.code, c.rule, c.path, c.says)
		})
	}
}

// The gate judges the SRID of a row like a crs member (S1-4).
func TestSRID_goes_to_the_gate(t *testing.T) {
	for srid, passes := range map[string]bool{"4326": true, "0": true, "999999": false} {
		value := `{"after":{"id":7,"geometry":{"wkb":"AQEAAAAAAAAAAAAhQAAAAAAAoEdA","srid":` + srid + `}},"op":"c"}`
		got, err := opener(t, envelope.Options{Format: envelope.Debezium}).Open(t.Context(), nil, []byte(value))
		must.Do(t, err)
		_, err = transformer(t).Gate(t.Context(), got.Feature)
		expect.That(t, (err == nil) == passes && (err == nil || classify.Of(err).Code == classify.CodeUnknownCRS), "SRID %s: %v", srid, err)
	}
}

// S0-6: a row is refused if a column that is read has the placeholder of a value that the database did not send.
func TestDebezium_S0_6_anUnavailableValueIsNoValue(t *testing.T) {
	const (
		bytes  = "X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ=="
		mark   = `"__debezium_unavailable_value"`
		plain  = `"id":1,"geometry":null,`
		unread = `"note":` + mark + `,"tags":[` + mark + `],`
		nested = `"key":{"no":1},"place":{"geom":null},`
		area   = `{"type":"Feature","id":1,"geometry":null,"properties":{"area":5}}`
	)
	numbers := "[95,95,100,101,98,101,122,105,117,109,95,117,110,97,118,97,105,108,97,98,108,101,95,118,97,108,117,101]"
	none := envelope.DebeziumOptions{}
	other, inHex, noText := envelope.DebeziumOptions{UnavailableValue: "n/a"}, envelope.DebeziumOptions{UnavailableValue: "hex:6e2f61"}, envelope.DebeziumOptions{UnavailableValue: "hex:c0ffee61"}
	reads := envelope.DebeziumOptions{Reads: func(column string) bool { return column == "area" }}
	inOne := envelope.Row{Properties: "all", Geometry: "place.geom", ID: "key.no"}
	for _, c := range []struct {
		name, columns, want string // want is the path of the value, or the feature
		debezium            envelope.DebeziumOptions
		row                 envelope.Row
	}{
		{"text", plain + `"note":` + mark, "/note", none, envelope.Row{}},
		{"bytes", plain + `"data":"` + bytes + `"`, "/data", none, envelope.Row{}},
		{"bytes_url_safe", plain + `"data":"` + strings.TrimRight(bytes, "=") + `"`, "/data", none, envelope.Row{}},
		{"bytes_hex", plain + `"data":"5f5f646562657a69756d5f756e617661696c61626c655f76616c7565"`, "/data", none, envelope.Row{}},
		{"geometry", `"id":1,"geometry":{"wkb":"` + bytes + `","srid":4326}`, "/geometry/wkb", none, envelope.Row{}},
		{"array_of_texts", plain + `"tags":[` + mark + `]`, "/tags/0", none, envelope.Row{}},
		{"array_of_numbers", plain + `"tags":` + numbers, "/tags", none, envelope.Row{}},
		{"array_of_floats", plain + `"tags":` + strings.ReplaceAll(strings.ReplaceAll(numbers, ",", ".0,"), "]", ".0]"), "/tags", none, envelope.Row{}},
		{"array_of_uuids", plain + `"tags":["b68a35a7-17ad-35b3-af2a-ae46edb4545a"]`, "/tags/0", none, envelope.Row{}},
		{"map", plain + `"map":{` + mark + `:` + mark + `}`, "/map", none, envelope.Row{}},
		{"map_as_text", plain + `"map":"{\"__debezium_unavailable_value\":\"__debezium_unavailable_value\"}"`, "/map", none, envelope.Row{}},
		{"nested", plain + `"row":{"a/b":{"c":` + mark + `}}`, "/row/a~1b/c", none, envelope.Row{}},
		{"another_placeholder", plain + `"note":"n/a"`, "/note", other, envelope.Row{}},
		{"another_in_hexadecimal", plain + `"note":"n/a"`, "/note", inHex, envelope.Row{}},
		{"no_text_as_base64", plain + `"note":"wP/uYQ=="`, "/note", noText, envelope.Row{}},
		{"no_text_as_signed_bytes", plain + `"note":[-64,-1,-18,97]`, "/note", noText, envelope.Row{}}, // bytes are signed in Java
		{"no_text_as_bytes", plain + `"note":[192,255,238,97]`, "/note", noText, envelope.Row{}},
		{"no_text_as_text_of_Java", plain + `"note":"\ufffd\ufffd\ufffda"`, "/note", noText, envelope.Row{}},
		{"nobody_reads_it", unread + plain + `"area":5`, area, reads, envelope.Row{}},
		{"one_that_is_read", unread + plain + `"area":` + mark, "/area", reads, envelope.Row{}},
		{"the_id_is_read", `"id":` + mark + `,"geometry":null`, "/id", reads, envelope.Row{}},
		{"the_geometry_is_read", `"id":1,"geometry":{"wkb":"` + bytes + `","srid":4326}`, "/geometry/wkb", reads, envelope.Row{}},
		{"beside_the_properties", unread + nested + `"all":{"area":5}`, area, none, inOne},
		{"in_the_properties", unread + nested + `"all":{"area":` + mark + `}`, "/all/area", none, inOne},
		{"in_the_place", unread + `"key":{"no":1},"place":{"geom":{"wkb":"` + bytes + `"}},"all":{}`, "/place/geom/wkb", none, inOne},
		{"in_the_key", unread + `"key":{"no":1,"other":` + mark + `},"place":{"geom":null},"all":{}`, "/key/other", none, inOne},
		{"only_contains_it", plain + `"note":"see __debezium_unavailable_value"`, `{"type":"Feature","id":1,"geometry":null,"properties":{"note":"see __debezium_unavailable_value"}}`, none, envelope.Row{}},
	} {
		for after, value := range map[string]string{"/after": `{"before":null,"after":{` + c.columns + `},"op":"u"}`, "": `{` + c.columns + `}`} {
			c.debezium.Unwrapped = after == ""
			got, err := opener(t, envelope.Options{Format: envelope.Debezium, Debezium: c.debezium, Row: c.row}).Open(t.Context(), nil, []byte(value))
			if strings.HasPrefix(c.want, "/") {
				refused(t, err, classify.CodeValueUnavailable, "column", after+c.want, "REPLICA IDENTITY FULL")
				continue
			}
			must.Do(t, err)
			expect.Equal(t, text(t, got), c.want, c.name)
		}
	}
	_, err := opener(t, envelope.Options{Format: envelope.Debezium}).Open(t.Context(), nil, []byte(`{"before":{"id":1,"note":`+mark+`},"after":null,"op":"d"}`))
	expect.Do(t, err, "a delete")
}

// io.debezium.data.geometry.Point has x and y, and its wkb is optional.
func TestDebezium_S0_8_aPointWithoutWKB(t *testing.T) {
	o := opener(t, envelope.Options{Format: envelope.Debezium})
	for _, point := range []string{`{"x":8.5,"y":47.25,"wkb":null,"srid":null}`, `{"x":8.5,"y":47.25,"srid":4326}`} {
		got, err := o.Open(t.Context(), nil, []byte(`{"before":null,"after":{"id":1,"geometry":`+point+`},"op":"c"}`))
		expect.That(t, err == nil && text(t, got) == `{"type":"Feature","id":1,"geometry":{"type":"Point","coordinates":[8.5,47.25]},"properties":{}}`, "%s: got %+v, %v", point, got, err)
	}
}

func transformError(t *testing.T, err error) *transform.Error {
	t.Helper()
	var e *transform.Error
	must.That(t, errors.As(err, &e), "%T is no *transform.Error: %v", err, err)
	return e
}

// fg returns a JSON-FG feature.
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
			got := must.Get(opener(t, envelope.Options{Format: envelope.JSONFG}).Open(t.Context(), nil, []byte(c.value)))(t)
			expect.That(t, text(t, got) == c.want, "\n got %s\nwant %s", text(t, got), c.want)
			_, err := transformer(t).Gate(t.Context(), got.Feature)
			expect.That(t, err == nil, "gate: %v", err)
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
		{"two_systems", fg("null", `,"place":{"type":"GeometryCollection","geometries":[{"type":"Point","coordinates":[1,2],"coordRefSys":"[EPSG:4326]"}]}`), classify.CodeUnknownCRS, "place_crs", "/place/geometries/0/coordRefSys", ""},
		{"S0-8_unclosed_ring", fg("null", `,"place":{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,1]]]}`), classify.CodeGeometryStructure, "ring_closed", "/place/coordinates/0", ""},
		{"place_of_no_type", fg("null", `,"place":{"type":"Circle","coordinates":[1,2]}`), classify.CodeGeometryType, "type_word", "/place/type", ""},
		{"time", fg(point, `,"time":{"timestamp":"2026-11-03T04:05:06+01:00"}`), classify.CodeEnvelopeMalformed, "time", "/time/timestamp", "UTC"},
		{"date", fg(point, `,"time":{"date":"2026-13-01"}`), classify.CodeEnvelopeMalformed, "time", "/time/date", ""},
		{"interval", fg(point, `,"time":{"interval":["..",7]}`), classify.CodeEnvelopeMalformed, "time", "/time/interval", ""},
		{"interval_of_one", fg(point, `,"time":{"interval":[".."]}`), classify.CodeEnvelopeMalformed, "time", "/time/interval", "two ends"},
		{"time_that_is_no_object", fg(point, `,"time":"2026"`), classify.CodeEnvelopeMalformed, "time", "/time", ""},
	} {
		_, err := opener(t, envelope.Options{Format: envelope.JSONFG}).Open(t.Context(), nil, []byte(c.value))
		refused(t, err, c.code, c.rule, c.path, c.says)
		e := transformError(t, err)
		expect.That(t, e.Feature == "a" || c.name == "place_of_no_type" || c.name == "S0-8_unclosed_ring", "%v: the fault does not name the feature: %+v", c.name, e)
	}
}

// With unsupported: geometry, the geometry replaces a place that GeoJSON cannot represent. Without a geometry the
// feature is refused.
func TestJSONFG_fallback(t *testing.T) {
	const point, prism = `{"type":"Point","coordinates":[8.5,47.25]}`, `,"place":{"type":"Prism","base":null}`
	o := opener(t, envelope.Options{Format: envelope.JSONFG, Unsupported: envelope.UnsupportedGeometry})
	got, err := o.Open(t.Context(), nil, []byte(fg(point, prism)))
	want := `{"type":"Feature","id":"a","geometry":` + point + `,"properties":null,"conformsTo":["x"]}`
	expect.That(t, err == nil && text(t, got) == want, "got %+v, %v", got, err)
	_, err = o.Open(t.Context(), nil, []byte(fg("null", prism)))
	refused(t, err, classify.CodeUnsupportedGeometry, "place_type", "/place/type", "")
	_, err = o.Open(t.Context(), nil, []byte(fg(point, `,"place":{"type":"Point","coordinates":[1]}`)))
	expect.Equal(t, transformError(t, err).Code, classify.CodeGeometryStructure, "a place that is broken is no place without a form code")
}
