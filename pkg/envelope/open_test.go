package envelope_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/linkedin/goavro/v2"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/envelope"
	"github.com/switchback-geo/switchback/pkg/transform"
)

var binary = []string{"ce_specversion", "1.0", "ce_id", "7", "ce_source", "/cadastre", "ce_type", "parcel.changed", "ce_subject", "p1", "ce_time", "2026-11-03T04:05:06Z"}

// The pipeline names the format, or the headers do.
func TestOpen(t *testing.T) {
	const structured = `{"specversion":"1.0","id":"7","source":"/cadastre","type":"parcel.changed","datacontenttype":"application/geo+json","data":` + parcel + `,"traceparent":"x"}`
	with := func(more ...string) []string { return append(append([]string{}, binary...), more...) }
	for _, c := range []struct {
		name    string
		format  envelope.Format
		headers []string
		value   string
		is      envelope.Format
		event   string
	}{
		{"plain", envelope.Auto, nil, parcel, envelope.GeoJSON, ""},
		{"zero_options", "", nil, parcel, envelope.GeoJSON, ""},
		{"content_type", envelope.Auto, []string{"Content-Type", "application/geo+json; charset=utf-8"}, parcel, envelope.GeoJSON, ""},
		{"JSON-FG_by_content_type", envelope.Auto, []string{"content-type", "application/vnd.ogc.fg+json"}, parcel, envelope.JSONFG, ""},
		{"JSON-FG_by_profile", envelope.Auto, []string{"content-type", `application/geo+json; profile="http://www.opengis.net/def/profile/ogc/0/jsonfg"`}, parcel, envelope.JSONFG, ""},
		{"binary_event", envelope.Auto, with("content-type", "application/json"), parcel, envelope.GeoJSON, "7"},
		{"binary_event_without_content_type", envelope.CloudEvents, binary, parcel, envelope.GeoJSON, "7"},
		{"binary_event_of_JSON-FG", envelope.Auto, with("content-type", "application/vnd.ogc.fg+json"), parcel, envelope.JSONFG, "7"},
		{"structured_event", envelope.Auto, []string{"content-type", "application/cloudevents+json; charset=UTF-8"}, structured, envelope.GeoJSON, "7"},
		{"structured_wins_over_headers", envelope.CloudEvents, []string{"content-type", "application/cloudevents+json", "ce_id", "other"}, structured, envelope.GeoJSON, "7"},
		{"structured_base64", envelope.CloudEvents, []string{"content-type", "application/cloudevents+json"},
			`{"specversion":"1.0","id":"7","source":"/c","type":"t","data_base64":"eyJ0eXBlIjoiRmVhdHVyZSIsImlkIjoicDEiLCJnZW9tZXRyeSI6eyJ0eXBlIjoiUG9pbnQiLCJjb29yZGluYXRlcyI6WzguNSw0Ny4yNV19LCJwcm9wZXJ0aWVzIjp7Im4iOjkwMDcxOTkyNTQ3NDA5OTN9fQ=="}`, envelope.GeoJSON, "7"},
		{"the_pipeline_wins_over_the_headers", envelope.GeoJSON, with("content-type", "application/cloudevents+json"), parcel, envelope.GeoJSON, ""},
		{"and_does_not_look_at_them", envelope.GeoJSON, []string{"content-type", "a", "content-type", "b"}, parcel, envelope.GeoJSON, ""},
	} {
		got := must.Get(opener(t, envelope.Options{Format: c.format}).Open(t.Context(), pairs(c.headers...), []byte(c.value)))(t)
		expect.That(t, text(t, got) == parcel && got.Format == c.is && got.FeatureID == "p1", "%v: got %s, %s, %q", c.name, text(t, got), got.Format, got.FeatureID)
		expect.That(t, (got.Event != nil || c.event == "") && (got.Event == nil || got.Event.ID == c.event && got.Event.Type != ""), "%v: got the event %+v", c.name, got.Event)
	}
}

// Serializers for a schema registry set no header, so the mark identifies Avro; no JSON text begins with it. A header
// that names another format takes precedence.
func TestOpen_autoReadsAvroByItsMark(t *testing.T) {
	encoder := must.Get(envelope.NewEventEncoder())(t)
	feature := must.Get(transformer(t).Decode([]byte(parcel)))(t)
	o := opener(t, envelope.Options{Format: envelope.Auto, Registry: registry{7: encoder.Schema()}})
	for name, frame := range map[string][]byte{
		"confluent": envelope.AppendConfluent(nil, 7), "single_object": envelope.AppendSingleObject(nil, encoder.Schema()),
	} {
		value := must.Get(encoder.Append(frame, feature))(t)
		c, err := o.Open(t.Context(), nil, value)
		expect.That(t, err == nil && c.Format == envelope.Avro && text(t, c) == parcel, "%s: %+v, %v", name, c, err)
		_, err = o.Open(t.Context(), pairs("content-type", "application/geo+json"), value)
		code := classify.Of(err).Code
		expect.That(t, code == classify.CodeNotJSON || code == classify.CodeInvalidUTF8, "%s: the header says JSON, and it was read as something else: %v", name, err)
	}
}

// A null value is a delete in every format.
func TestOpen_deletes(t *testing.T) {
	for _, format := range envelope.Formats() {
		c, err := opener(t, envelope.Options{Format: format}).Open(t.Context(), nil, nil)
		expect.That(t, err == nil && c.Delete && c.Feature == nil, "%s: %+v, %v", format, c, err)
	}
	c, err := opener(t, envelope.Options{Format: envelope.Auto}).Open(t.Context(), pairs(binary...), nil)
	expect.That(t, err == nil && c.Delete && c.Event != nil && c.Event.ID == "7" && c.FeatureID == "p1", "binary event: %+v, %v", c, err)
	c, err = opener(t, envelope.Options{Format: envelope.Auto}).Open(t.Context(), pairs("content-type", "application/cloudevents+json"), nil)
	expect.That(t, err == nil && c.Delete, "structured event: %+v, %v", c, err)
}

func TestOpenRefuses(t *testing.T) {
	structured := []string{"content-type", "application/cloudevents+json"}
	event := func(more string) string { return `{"specversion":"1.0","id":"7","source":"/c","type":"t"` + more + `}` }
	for _, c := range []struct {
		name             string
		headers          []string
		value            string
		code             classify.Code
		rule, path, says string
	}{
		{"empty_value", nil, "", classify.CodeEmptyValue, "empty_value", "", ""},
		{"collection", nil, `{"type":"FeatureCollection","features":[]}`, classify.CodeNotAFeature, "feature_object", "/type", "each of its features as a record of its own"},
		{"content_type", []string{"content-type", "text/csv"}, parcel, classify.CodeEnvelopeMalformed, "content_type", "", "source.format"},
		{"content_type_that_is_none", []string{"content-type", "application/"}, parcel, classify.CodeEnvelopeMalformed, "content_type", "", ""},
		{"sequence", []string{"content-type", "application/geo+json-seq"}, parcel, classify.CodeEnvelopeMalformed, "content_type", "", "each of them"},
		{"header_twice", []string{"ce_id", "1", "ce_id", "2"}, parcel, classify.CodeEnvelopeMalformed, "header", "", "ce_id"},
		{"header_not_UTF-8", []string{"content-type", "\xff"}, parcel, classify.CodeEnvelopeMalformed, "header", "", ""},
		{"version", []string{"ce_specversion", "0.3", "ce_id", "1"}, parcel, classify.CodeEnvelopeMalformed, "specversion", "", "CloudEvents 1.0"},
		{"no_type", []string{"ce_specversion", "1.0", "ce_id", "1", "ce_source", "s"}, parcel, classify.CodeEnvelopeMalformed, "attribute", "", "ce_type"},
		{"time", append([]string{}, append(binary[:10:10], "ce_time", "yesterday")...), parcel, classify.CodeEnvelopeMalformed, "event_time", "", "RFC 3339"},
		{"batch", []string{"content-type", "application/cloudevents-batch+json"}, "[]", classify.CodeEnvelopeMalformed, "batch", "", "record of its own"},
		{"batch_by_content", structured, "[" + event("") + "]", classify.CodeEnvelopeMalformed, "batch", "", ""},
		{"protobuf", []string{"content-type", "application/cloudevents+protobuf"}, "x", classify.CodeEnvelopeMalformed, "content_type", "", "application/cloudevents+json"},
		{"no_JSON", structured, "{", classify.CodeTruncatedJSON, "truncated", "", ""},
		{"member_twice", structured, event(`,"id":"8"`), classify.CodeDuplicateKey, "duplicate_member", "/id", ""},
		{"trailing_data", structured, event("") + event(""), classify.CodeTrailingData, "trailing_data", "", ""},
		{"no_data", structured, event(""), classify.CodeEnvelopeMalformed, "event_data", "/data", "value is null"},
		{"null_data", structured, event(`,"data":null`), classify.CodeEnvelopeMalformed, "event_data", "/data", ""},
		{"data_twice", structured, event(`,"data":1,"data_base64":"MQ=="`), classify.CodeEnvelopeMalformed, "event_data", "/data", "both"},
		{"base64", structured, event(`,"data_base64":"!"`), classify.CodeEnvelopeMalformed, "event_data", "/data_base64", ""},
		{"capital_letters", structured, event(`,"Data":1`), classify.CodeEnvelopeMalformed, "attribute", "", "small letters"},
		{"attribute_of_another_type", structured, event(`,"subject":7`), classify.CodeEnvelopeMalformed, "attribute", "/subject", "quotes"},
		{"attribute_that_is_an_object", structured, event(`,"extra":{}`), classify.CodeEnvelopeMalformed, "attribute", "/extra", ""},
		{"avro_as_JSON", structured, event(`,"datacontenttype":"application/avro","data":{}`), classify.CodeEnvelopeMalformed, "event_data", "/data", "data_base64"},
		{"data_in_base64_with_a_fault", structured, event(`,"data_base64":"e30="`), classify.CodeNotAFeature, "member_missing", "/data_base64", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := opener(t, envelope.Options{Format: envelope.Auto}).Open(t.Context(), pairs(c.headers...), []byte(c.value))
			refused(t, err, c.code, c.rule, c.path, c.says)
		})
	}
}

// A fault inside an event has its place in the record.
func TestOpen_place(t *testing.T) {
	const value = "{\"specversion\":\"1.0\",\"id\":\"7\",\"source\":\"/c\",\"type\":\"t\",\n \"data\":{\"type\":\"Feature\",\n\"geometry\":{\"type\":\"Point\",\"coordinates\":[1,null]},\"properties\":null}}"
	_, err := opener(t, envelope.Options{Format: envelope.CloudEvents}).Open(t.Context(), pairs("content-type", "application/cloudevents+json"), []byte(value))
	e := transformError(t, err)
	expect.That(t, e.Path == "/data/geometry/coordinates/1" && e.Line == 3 && e.Column == 45 && value[e.Offset:e.Offset+4] == "null", "got %q, line %d, column %d, offset %d", e.Path, e.Line, e.Column, e.Offset)
	_, err = opener(t, envelope.Options{Format: envelope.CloudEvents}).Open(t.Context(), pairs("content-type", "application/cloudevents+json"),
		[]byte(`{"specversion":"1.0","id":"ü","source":"/c","type":"t","data":{"type":"feature"}}`))
	if e = transformError(t, err); e.Line != 1 || e.Column != 71 {
		t.Errorf("got line %d, column %d: %v", e.Line, e.Column, e)
	}
}

// Open does not change the record, because retries read the same bytes again.
func TestOpen_leaves_the_record_alone(t *testing.T) {
	value := []byte(`{"specversion":"1.0","id":"7","source":"/c","type":"t","data":` + parcel + `}`)
	before := string(value)
	headers := pairs("content-type", "application/cloudevents+json", "ce_id", "1")
	for range 2 {
		must.Get(opener(t, envelope.Options{Format: envelope.Auto}).Open(t.Context(), headers, value))(t)
	}
	expect.That(t, string(value) == before && len(headers) == 2, "the record was modified")
}

func TestNewRefuses(t *testing.T) {
	for name, options := range map[string]envelope.Options{
		"format": {Format: "xml"}, "data": {Data: "cloudevents"}, "auto": {Data: envelope.Auto}, "unsupported": {Unsupported: "drop"},
		"serialization": {Debezium: envelope.DebeziumOptions{Serialization: "protobuf"}}, "geometry": {Row: envelope.Row{GeometryFormat: "gml"}},
	} {
		_, err := envelope.New(transformer(t), options)
		expect.That(t, err != nil, "%s: %+v passed", name, options)
	}
	_, err := envelope.New(nil, envelope.Options{})
	expect.That(t, err != nil, "no transformer passed")
}

// C-1: keys are read as the converters of Kafka Connect write them, and paths find their parts.
func TestKey_C1(t *testing.T) {
	s := schema(t, `{"type":"record","name":"Key","namespace":"db.public.parcel","fields":[{"name":"id","type":"long"},{"name":"tenant","type":"string"}]}`)
	o := opener(t, envelope.Options{Registry: registry{1: s}})
	avroKey := string(confluent(t, s, 1, map[string]any{"id": int64(7), "tenant": "x"}))
	for _, c := range []struct {
		name, key, path, want string
		code                  classify.Code
		says                  string
	}{
		{name: "json", key: `{"id":7}`, path: "id", want: "7"},
		{name: "json_with_schema", key: `{"schema":{"type":"struct","fields":[{"type":"int64","field":"id"}]},"payload":{"id":7}}`, path: "id", want: "7"},
		{name: "no_schema", key: `{"schema":null,"payload":"p-7"}`, want: "p-7"},
		{name: "whole", key: `"p-7"`, want: "p-7"},
		{name: "digits_stay", key: `{"id":12345678901234567890}`, path: "id", want: "12345678901234567890"},
		{name: "nested", key: `{"a":{"b":"x"}}`, path: "a.b", want: "x"},
		{name: "a_column_of_that_name", key: `{"payload":7,"schema":"s","id":1}`, path: "payload", want: "7"},
		{name: "avro", key: avroKey, path: "id", want: "7"},
		{name: "text", key: `p-7`, code: classify.CodeNotJSON, says: "the record key"},
		{name: "missing", key: `{"no":7}`, path: "id", code: classify.CodeMissingRequired, says: "has no id"},
		{name: "object", key: `{"id":{"x":7}}`, path: "id", code: classify.CodeWrongType, says: "an object"},
		{name: "null", key: `{"id":null}`, path: "id", code: classify.CodeWrongType, says: "null"},
		{name: "unknown_schema", key: "\x00\x00\x00\x00\x09\x0e", code: classify.CodeSchemaUnknown},
		{name: "cut_avro", key: avroKey[:6], path: "id", code: classify.CodeAvroDecode, says: "the record key"},
	} {
		t.Run(c.name, func(t *testing.T) {
			value, err := o.Key(t.Context(), []byte(c.key))
			if err == nil {
				var path []string
				if c.path != "" {
					path = strings.Split(c.path, ".")
				}
				value, err = envelope.Part(value, path)
			}
			if c.code == "" {
				expect.That(t, err == nil && value.Text() == c.want, "got %s, %v; want %s", value.Text(), err, c.want)
				return
			}
			e, is := errors.AsType[*transform.Error](err)
			expect.That(t, (c.code == classify.CodeSchemaUnknown || is) && classify.Of(err).Code == c.code && strings.Contains(err.Error(), c.says), "got %v (%v); want %s that says %q", err, e, c.code, c.says)
		})
	}
}

// features returns GeoJSON as the transform writes it.
func features() []string {
	return []string{
		parcel,
		`{"type":"Feature","geometry":null,"properties":null}`,
		`{"type":"Feature","id":42,"geometry":null,"properties":{}}`,
		`{"type":"Feature","id":12345678901234567890,"geometry":null,"properties":{"":null,"a":[],"b":{},"c":[[{"d":[1,2.5,1.50,1e3,-0,0.1]}]]}}`,
		`{"type":"Feature","id":1.50,"bbox":[-1,-2,3,4.5],"geometry":{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,0]]]},"properties":{"ü":"\u0000\"","t":true,"f":false},"when":{"a":1},"b":null}`,
		`{"type":"Feature","id":"z","geometry":{"type":"GeometryCollection","geometries":[{"type":"LineString","coordinates":[[0,0,5],[1,1]]},{"type":"MultiPolygon","coordinates":[]}]},"properties":{"n":123456789012345678901234567890.5}}`,
	}
}

// A feature survives a round trip through Avro, in either framing.
func TestEvent(t *testing.T) {
	tr := transformer(t)
	encoder := must.Get(envelope.NewEventEncoder())(t)
	o := opener(t, envelope.Options{Format: envelope.Avro, Registry: registry{9: encoder.Schema()}, Row: envelope.Row{Geometry: "nothing"}})
	for _, want := range features() {
		f := must.Get(tr.Decode([]byte(want)))(t)
		for name, header := range map[string][]byte{
			"confluent": envelope.AppendConfluent(nil, 9), "single_object": envelope.AppendSingleObject(nil, encoder.Schema()),
		} {
			value := must.Get(encoder.Append(header, f))(t)
			again, err := encoder.Append(bytes.Clone(header), f)
			expect.That(t, err == nil && bytes.Equal(value, again), "%s: written twice, it differs (%v)", name, err)
			c := must.Get(o.Open(t.Context(), nil, value))(t)
			got := text(t, c)
			expect.That(t, got == want && bytes.Equal(transform.Canonical(f), transform.Canonical(c.Feature)), "%s:\n got %s\nwant %s", name, got, want)
		}
	}
}

// Some events fit the schema but cannot be GeoJSON.
func TestEventRefuses(t *testing.T) {
	encoder := must.Get(envelope.NewEventEncoder())(t)
	member := func(name string, value any) map[string]any { return map[string]any{"name": name, "value": value} }
	event := func(name string, value any) map[string]any {
		out := map[string]any{"id": nil, "bbox": nil, "geometry": nil, "properties": nil, "foreign": []any{}}
		out[name] = value
		return out
	}
	number := goavro.Union("switchback.v1.Number", map[string]any{"decimal": "NaN"})
	for _, c := range []struct {
		name       string
		native     map[string]any
		code       classify.Code
		rule, path string
	}{
		{"bbox", event("bbox", goavro.Union("array", []float64{1})), classify.CodeWrongType, "event_member", "/bbox"},
		{"member_twice", event("properties", goavro.Union("array", []any{member("a", nil), member("a", nil)})), classify.CodeDuplicateKey, "event_member", "/properties/1"},
		{"decimal", event("properties", goavro.Union("array", []any{member("a", number)})), classify.CodeWrongType, "event_member", "/properties/0/value"},
		{"foreign_member_of_GeoJSON", event("foreign", []any{member("crs", nil)}), classify.CodeNotAFeature, "event_member", "/foreign/0"},
		{"geometry", event("geometry", goavro.Union("bytes", []byte{1})), classify.CodeWKBMalformed, "truncated", "/geometry"},
		{"empty_point", event("geometry", goavro.Union("bytes", []byte("\x01\x04\x00\x00\x00\x01\x00\x00\x00\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\xf8\x7f\x00\x00\x00\x00\x00\x00\xf8\x7f"))), classify.CodeGeometryEmpty, "empty_geometry", "/geometry"},
	} {
		value := must.Get(encoder.Schema().Encode(envelope.AppendSingleObject(nil, encoder.Schema()), c.native))(t)
		t.Run(c.name, func(t *testing.T) {
			_, err := opener(t, envelope.Options{Format: envelope.Avro}).Open(t.Context(), nil, value)
			refused(t, err, c.code, c.rule, c.path, "")
		})
	}
}

// The schema promises WGS 84, so no other system is written with it.
func TestEvent_inAnotherSystem(t *testing.T) {
	encoder, err := envelope.NewEventEncoder()
	must.Do(t, err)
	f := must.Get(transformer(t).Decode([]byte(parcel)))(t)
	f.CRS = "EPSG:25832"
	_, err = encoder.Append(nil, f)
	got := classify.Of(err)
	expect.That(t, got.Code == classify.CodeUnknownCRS && got.Stage == classify.StageEncode, "got %+v", got)
}

// A schema with the name of the published event but other fields is refused, so that no field is lost.
func TestEvent_S0_8_otherFieldsUnderItsName(t *testing.T) {
	const begin = `{"type":"record","name":"FeatureEvent","namespace":"switchback.v1","fields":[{"name":"id","type":"string"},{"name":"bbox","type":"null"},`
	for path, c := range map[string]struct {
		fields string
		native map[string]any
	}{
		"/properties": {`{"name":"geometry","type":"null"},{"name":"properties","type":{"type":"map","values":"string"}},{"name":"foreign","type":"null"}`,
			map[string]any{"id": "a", "bbox": nil, "geometry": nil, "properties": map[string]any{"owner": "x"}, "foreign": nil}},
		"/geometry": {`{"name":"geom","type":"bytes"},{"name":"properties","type":"null"},{"name":"foreign","type":"null"}`,
			map[string]any{"id": "a", "bbox": nil, "geom": []byte{1}, "properties": nil, "foreign": nil}},
	} {
		s := schema(t, begin+c.fields+`]}`)
		_, err := opener(t, envelope.Options{Format: envelope.Avro, Registry: registry{4: s}}).Open(t.Context(), nil, confluent(t, s, 4, c.native))
		refused(t, err, classify.CodeWrongType, "event_member", path, "published event")
	}
}
