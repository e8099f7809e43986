package envelope_test

import (
	"bytes"
	"testing"

	"github.com/linkedin/goavro/v2"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/envelope"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// features are GeoJSON as the transform writes it.
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

// TestEvent: a feature goes through Avro and is the same, in either framing.
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

// TestEventRefuses: what the schema allows and GeoJSON does not.
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

// TestEvent_inAnotherSystem: the schema says WGS 84, so nothing else is written with it.
func TestEvent_inAnotherSystem(t *testing.T) {
	encoder, err := envelope.NewEventEncoder()
	must.Do(t, err)
	f, err := transformer(t).Decode([]byte(parcel))
	must.Do(t, err)
	f.CRS = "EPSG:25832"
	_, err = encoder.Append(nil, f)
	got := classify.Of(err)
	expect.That(t, got.Code == classify.CodeUnknownCRS && got.Stage == classify.StageEncode, "got %+v", got)
}

// A schema with the name of the published event and other fields is no reason to lose what those hold.
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
