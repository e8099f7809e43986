package envelope_test

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/linkedin/goavro/v2"
	"github.com/paulmach/orb"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/envelope"
	"github.com/switchback-geo/switchback/pkg/envelope/avro"
	"github.com/switchback-geo/switchback/pkg/geometry"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// rowSchema returns the schema of a row whose geometry has a type.
func rowSchema(geometryType string) string {
	return `{"type":"record","name":"Parcel","namespace":"geo","fields":[{"name":"id","type":"long"},{"name":"geometry","type":` + geometryType + `},` +
		`{"name":"at","type":{"type":"long","logicalType":"timestamp-millis"}},{"name":"area","type":["null",{"type":"bytes","logicalType":"decimal","precision":9,"scale":2}]}]}`
}

// confluent writes a row in the Confluent wire format.
func confluent(t testing.TB, s *avro.Schema, id int, native any) []byte {
	t.Helper()
	return must.Get(s.Encode(envelope.AppendConfluent(nil, id), native))(t)
}

func rowOf(geometry any) map[string]any {
	return map[string]any{"id": int64(9007199254740993), "geometry": geometry, "at": int64(1793678706789), "area": goavro.Union("bytes", []byte{0x04, 0xe2})}
}

// ewkb returns POINT Z (8.5 47.25 440) in a format, with SRID 4326 if the format has one.
func ewkb(t testing.TB, format geometry.Format) []byte {
	t.Helper()
	switch format {
	case geometry.WKT:
		return []byte("POINT Z (8.5 47.25 440)")
	case geometry.EWKT:
		return []byte("SRID=4326;POINT(8.5 47.25 440)")
	}
	binary, srid := geometry.WKB, int32(0)
	if strings.HasPrefix(string(format), "ewkb") {
		binary, srid = geometry.EWKB, 4326
	}
	data := must.Get(geometry.Append(nil, binary, geometry.Geometry{Shape: orb.Point{8.5, 47.25}, Z: []float64{440}, SRID: srid}))(t)
	switch format {
	case geometry.WKBHex, geometry.EWKBHex:
		return []byte(hex.EncodeToString(data))
	case geometry.WKBBase64, geometry.EWKBBase64:
		return []byte(base64.StdEncoding.EncodeToString(data))
	}
	return data
}

// A geometry is read in every form and in both framings, and values stay exact.
func TestAvroRow(t *testing.T) {
	const want = `{"type":"Feature","id":9007199254740993,"geometry":{"type":"Point","coordinates":[8.5,47.25,440]},` +
		`"properties":{"at":"2026-11-03T04:05:06.789Z","area":"12.50"}}`
	for _, format := range envelope.GeometryFormats() {
		kind := `"string"`
		var native any
		switch format {
		case envelope.GeometryGeoJSON:
			native = ` {"type":"Point","coordinates":[8.5,47.25,440]}`
		case envelope.GeometryStruct:
			kind = `["null",{"type":"record","name":"Geometry","namespace":"io.debezium.data.geometry","fields":[{"name":"srid","type":["null","int"]},{"name":"wkb","type":"bytes"}]}]`
			native = goavro.Union("io.debezium.data.geometry.Geometry", map[string]any{"srid": goavro.Union("int", 4326), "wkb": ewkb(t, geometry.EWKB)})
		case envelope.GeometryWKB, envelope.GeometryEWKB:
			kind, native = `"bytes"`, ewkb(t, geometry.Format(format))
		default:
			native = string(ewkb(t, geometry.Format(format)))
		}
		s := schema(t, rowSchema(kind))
		o := opener(t, envelope.Options{Format: envelope.Avro, Row: envelope.Row{GeometryFormat: format}, Registry: registry{7: s}, Schemas: []*avro.Schema{s}})
		single := must.Get(s.Encode(envelope.AppendSingleObject(nil, s), rowOf(native)))(t)
		for name, value := range map[string][]byte{"confluent": confluent(t, s, 7, rowOf(native)), "single_object": single} {
			c := must.Get(o.Open(t.Context(), nil, value))(t)
			got := text(t, c)
			expect.That(t, got == want && c.FeatureID == "9007199254740993", "%v: %s:\n got %s\nwant %s", string(format), name, got, want)
			_, err := transformer(t).Gate(t.Context(), c.Feature)
			expect.That(t, err == nil, "%v: %s: gate: %v", string(format), name, err)
		}
	}
}

// Columns may be paths, one column may hold the properties, and columns may be missing.
func TestAvroRow_columns(t *testing.T) {
	s := schema(t, `{"type":"record","name":"R","fields":[{"name":"key","type":{"type":"record","name":"K","fields":[{"name":"no","type":"string"}]}},`+
		`{"name":"shape","type":["null","string"]},{"name":"attributes","type":["null",{"type":"map","values":"int"}]}]}`)
	native := func(shape, attributes any) []byte {
		return confluent(t, s, 1, map[string]any{"key": map[string]any{"no": "a"}, "shape": shape, "attributes": attributes})
	}
	for _, c := range []struct {
		name  string
		row   envelope.Row
		value []byte
		want  string
	}{
		{"all", envelope.Row{ID: "key.no", Geometry: "shape", GeometryFormat: envelope.GeometryWKT, Properties: "attributes"},
			native(goavro.Union("string", "POINT (1 2)"), goavro.Union("map", map[string]any{"n": 3})),
			`{"type":"Feature","id":"a","geometry":{"type":"Point","coordinates":[1,2]},"properties":{"n":3}}`},
		{"nulls", envelope.Row{ID: "key.no", Geometry: "shape", Properties: "attributes"}, native(nil, nil), `{"type":"Feature","id":"a","geometry":null,"properties":null}`},
		{"no_id", envelope.Row{Geometry: "shape"}, native(nil, nil), `{"type":"Feature","geometry":null,"properties":{"key":{"no":"a"},"attributes":null}}`},
	} {
		got, err := opener(t, envelope.Options{Format: envelope.Avro, Row: c.row, Registry: registry{1: s}}).Open(t.Context(), nil, c.value)
		expect.That(t, err == nil && text(t, got) == c.want, "%s: got %+v, %v", c.name, got, err)
	}
}

func TestAvroRefuses(t *testing.T) {
	bytesRow, textRow := schema(t, rowSchema(`"bytes"`)), schema(t, rowSchema(`"string"`))
	long := schema(t, `"long"`)
	nothing := schema(t, `{"type":"record","name":"N","fields":[{"name":"id","type":["null","boolean"]},{"name":"geometry","type":"null"}]}`)
	r := registry{1: bytesRow, 2: textRow, 3: long, 4: nothing}
	srid := func(text string) []byte { return must.Get(hex.DecodeString(text))(t) }
	for _, c := range []struct {
		name             string
		row              envelope.Row
		value            []byte
		code             classify.Code
		rule, path, says string
	}{
		{"no_framing", envelope.Row{}, []byte("x"), classify.CodeAvroDecode, "framing", "", "bare Avro"},
		{"empty", envelope.Row{}, []byte{}, classify.CodeAvroDecode, "framing", "", ""},
		{"GUID", envelope.Row{}, []byte{1, 2}, classify.CodeAvroDecode, "framing", "", "GUID"},
		{"header_alone", envelope.Row{}, []byte{0, 0, 0}, classify.CodeAvroDecode, "framing", "", ""},
		{"unknown_fingerprint", envelope.Row{}, []byte("\xc3\x01abcdefgh"), classify.CodeSchemaUnknown, "schema_id", "", "6162636465666768"},
		{"schema_that_is_none", envelope.Row{}, envelope.AppendConfluent(nil, 9), classify.CodeSchemaUnknown, "schema_id", "", "schema 9 cannot be used"},
		{"truncated", envelope.Row{}, envelope.AppendConfluent(nil, 1), classify.CodeAvroDecode, "truncated", "/id", ""},
		{"no_record", envelope.Row{}, append(envelope.AppendConfluent(nil, 3), 2), classify.CodeWrongType, "not_a_record", "", "a number"},
		{"no_geometry_column", envelope.Row{Geometry: "shape"}, confluent(t, bytesRow, 1, rowOf([]byte{})), classify.CodeMissingRequired, "column", "/shape", "source.row.geometry"},
		{"no_id_column", envelope.Row{ID: "key.no"}, confluent(t, bytesRow, 1, rowOf([]byte{})), classify.CodeMissingRequired, "column", "/key/no", ""},
		{"id_of_another_type", envelope.Row{}, append(envelope.AppendConfluent(nil, 4), 2, 1), classify.CodeWrongType, "column", "/id", "a boolean"},
		{"properties_of_another_type", envelope.Row{GeometryFormat: "wkt", Properties: "at"}, confluent(t, textRow, 2, rowOf("POINT (1 2)")), classify.CodeWrongType, "column", "/at", ""},
		{"GeoJSON_that_closes_early", envelope.Row{}, confluent(t, textRow, 2, rowOf(`{"type":"Point","coordinates":[1,2]},"id":3,"x":{}`)), classify.CodeTrailingData, "trailing_data", "/geometry", ""},
		{"text_that_is_no_GeoJSON", envelope.Row{}, confluent(t, textRow, 2, rowOf("POINT (1 2)")), classify.CodeWrongType, "column", "/geometry", "geometry_format"},
		{"wkt", envelope.Row{GeometryFormat: "wkt"}, confluent(t, textRow, 2, rowOf("POINT (1")), classify.CodeWKTMalformed, "truncated", "/geometry", "wkt: "},
		{"hexadecimal_where_bytes_must_be", envelope.Row{GeometryFormat: "ewkb"}, confluent(t, textRow, 2, rowOf("010100000")), classify.CodeWKBMalformed, "column", "/geometry", "ewkb_hex"},
		{"EWKB_named_WKB", envelope.Row{GeometryFormat: "wkb"}, confluent(t, bytesRow, 1, rowOf(srid("0101000020e610000000000000000000000000000000000000"))), classify.CodeWKBMalformed, "dialect", "/geometry", "EWKB"},
		{"empty_point", envelope.Row{GeometryFormat: "wkt"}, confluent(t, textRow, 2, rowOf("MULTIPOINT (EMPTY, (1 2))")), classify.CodeGeometryEmpty, "empty_geometry", "/geometry", ""},
		{"measures", envelope.Row{GeometryFormat: "wkt"}, confluent(t, textRow, 2, rowOf("POINT M (1 2 3)")), classify.CodeUnsupportedGeometry, "measures", "/geometry", "drop_measures"},
		{"struct", envelope.Row{GeometryFormat: "struct"}, confluent(t, textRow, 2, rowOf("x")), classify.CodeWrongType, "column", "/geometry", "struct"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := opener(t, envelope.Options{Format: envelope.Avro, Row: c.row, Registry: r}).Open(t.Context(), nil, c.value)
			refused(t, err, c.code, c.rule, c.path, c.says)
		})
	}
}

// Errors of the registry are returned unchanged, and a record that needs a registry is refused if there is none.
func TestAvro_registry(t *testing.T) {
	value := envelope.AppendConfluent(nil, 503)
	_, err := opener(t, envelope.Options{Format: envelope.Avro, Registry: registry{}}).Open(t.Context(), nil, value)
	expect.That(t, errors.Is(err, errRegistry) && classify.Of(err).Stage == classify.StageDecode, "got %v", err)
	_, err = opener(t, envelope.Options{Format: envelope.Avro}).Open(t.Context(), nil, value)
	refused(t, err, classify.CodeSchemaUnknown, "schema_id", "", "schema_registry.url")
}

// The data content type names the format of the event's data.
func TestCloudEvent_of_Avro(t *testing.T) {
	s := schema(t, rowSchema(`"string"`))
	o := opener(t, envelope.Options{Format: envelope.Auto, Row: envelope.Row{GeometryFormat: "wkt"}, Registry: registry{7: s}})
	value := confluent(t, s, 7, rowOf("POINT (1 2)"))
	structured := `{"specversion":"1.0","id":"7","source":"/c","type":"t","datacontenttype":"application/avro","data_base64":"` + base64.StdEncoding.EncodeToString(value) + `"}`
	for name, c := range map[string]struct {
		headers []string
		value   []byte
	}{
		"plain":      {[]string{"content-type", "application/avro"}, value},
		"binary":     {append([]string{"content-type", "application/avro"}, binary...), value},
		"structured": {[]string{"content-type", "application/cloudevents+json"}, []byte(structured)},
	} {
		got, err := o.Open(t.Context(), pairs(c.headers...), c.value)
		expect.That(t, err == nil && got.Format == envelope.Avro && got.FeatureID == "9007199254740993", "%s: got %+v, %v", name, got, err)
	}
}

// PostGIS writes the system into the geometry (by default in ST_AsGeoJSON). It is judged like any other declared system;
// otherwise its coordinates would be read in the wrong one.
func TestRow_S1_4_crsOfAGeometry(t *testing.T) {
	for name, passes := range map[string]bool{"EPSG:4326": true, "EPSG:4258": false, "EPSG:25832": false, "EPSG:1": false} {
		geometry := `{"type":"Point","crs":{"type":"name","properties":{"name":"` + name + `"}},"coordinates":[8.5,47.25]}`
		for form, column := range map[string]string{"object": geometry, "text": `"` + strings.ReplaceAll(geometry, `"`, `\"`) + `"`} {
			o := opener(t, envelope.Options{Format: envelope.Debezium, Row: envelope.Row{GeometryFormat: envelope.GeometryGeoJSON}})
			got, err := o.Open(t.Context(), nil, []byte(`{"op":"c","after":{"id":7,"geometry":`+column+`}}`))
			must.Do(t, err)
			_, err = transformer(t).Gate(t.Context(), got.Feature)
			code := classify.Of(err).Code
			expect.That(t, (err == nil) == passes && (passes || code == classify.CodeUnknownCRS || code == classify.CodeCRSConflict), "%s in an %s: %v", name, form, err)
		}
	}
}

// registry is a schema registry with a few schemas.
type registry map[int]*avro.Schema

// errRegistry is the error of a registry that does not answer.
var errRegistry = errors.New("the registry does not answer")

func (r registry) SchemaByID(_ context.Context, id int) (*avro.Schema, error) {
	switch schema := r[id]; {
	case schema != nil:
		return schema, nil
	case id == 503:
		return nil, errRegistry
	default:
		return nil, fmt.Errorf("schema %d: %w", id, &avro.SchemaError{Message: "it is no Avro"})
	}
}

func transformer(t testing.TB) *transform.Transformer {
	t.Helper()
	return must.Get(transform.New(transform.Config{}))(t)
}

func opener(t testing.TB, options envelope.Options) *envelope.Opener {
	t.Helper()
	return must.Get(envelope.New(transformer(t), options))(t)
}

func schema(t testing.TB, text string) *avro.Schema {
	t.Helper()
	return must.Get(avro.Parse(text))(t)
}

// pairs returns headers for names and values.
func pairs(all ...string) []kgo.RecordHeader {
	var out []kgo.RecordHeader
	for i := 0; i+1 < len(all); i += 2 {
		out = append(out, kgo.RecordHeader{Key: all[i], Value: []byte(all[i+1])})
	}
	return out
}

// text returns the GeoJSON of an opened record, or a description of anything else.
func text(t testing.TB, c envelope.Content) string {
	t.Helper()
	if c.Delete {
		return "delete " + c.FeatureID
	}
	out := must.Get(transformer(t).Encode(c.Feature))(t)
	return string(out)
}

// refused checks what every error of a record has.
func refused(t *testing.T, err error, code classify.Code, rule, path, says string) {
	t.Helper()
	var e *transform.Error
	must.That(t, errors.As(err, &e), "%T is no *transform.Error: %v", err, err)
	expect.That(t, e.Code == code && e.Rule == rule && e.Path == path && strings.Contains(e.Error(), says), "got %s, %s at %q: %v", e.Code, e.Rule, e.Path, e)
	expect.That(t, e.Message != "" && e.Fix != "", "%+v leaves something out", e)
	f := classify.Of(err)
	expect.That(t, f.Code == code && f.Class == classify.Row, "classified as %+v", f)
}

const parcel = `{"type":"Feature","id":"p1","geometry":{"type":"Point","coordinates":[8.5,47.25]},"properties":{"n":9007199254740993}}`

// hold opens a record and checks the result: a complete error, a delete, or a feature that can be written.
func hold(t *testing.T, o *envelope.Opener, headers []kgo.RecordHeader, value []byte) {
	t.Helper()
	c, err := o.Open(t.Context(), headers, value)
	if err != nil {
		var e *transform.Error
		must.That(t, errors.As(err, &e) && e.Code != "" && e.Stage != "" && e.Rule != "" && e.Message != "" && e.Fix != "" && len([]rune(e.Value)) <= 80, "%#v leaves something out", err)
		return
	}
	if c.Delete {
		return
	}
	tr, features := transformer(t), c.Features
	if features == nil {
		features = []*transform.Feature{c.Feature}
	}
	for _, f := range features {
		out := must.Get(tr.Encode(f))(t)
		_, err := tr.Decode(out)
		must.That(t, err == nil, "%s cannot be read: %v", out, err)
		_ = transform.Canonical(f)
	}
}

// FeatureCollections of every JSON format are split.
func FuzzSplit(f *testing.F) {
	collection := `{"type":"FeatureCollection","coordRefSys":"[EPSG:4326]","features":[` + parcel + `,` + fg("null", `,"place":{"type":"Point","coordinates":[47.25,8.5]}`) + `]}`
	f.Add("application/geo+json", []byte(collection))
	f.Add("application/vnd.ogc.fg+json", []byte(collection))
	f.Add("application/cloudevents+json", []byte(`{"specversion":"1.0","id":"7","source":"/c","type":"t","data":`+collection+`}`))
	o := opener(f, envelope.Options{Format: envelope.Auto, Split: envelope.SplitFeatures})
	f.Fuzz(func(t *testing.T, contentType string, value []byte) {
		hold(t, o, pairs("content-type", contentType), value)
	})
}

func FuzzCloudEvents(f *testing.F) {
	f.Add("application/cloudevents+json", []byte(`{"specversion":"1.0","id":"7","source":"/c","type":"t","data":`+parcel+`}`))
	f.Add("application/cloudevents+json", []byte(`{"specversion":"1.0","id":"7","source":"/c","type":"t","datacontenttype":"application/vnd.ogc.fg+json","data_base64":"e30="}`))
	f.Add("application/json", []byte(parcel))
	f.Add("application/avro", []byte{0, 0, 0, 0, 1})
	o := opener(f, envelope.Options{Format: envelope.Auto, Registry: registry{}})
	f.Fuzz(func(t *testing.T, contentType string, value []byte) {
		hold(t, o, pairs(append([]string{"content-type", contentType}, binary...)...), value)
		hold(t, o, pairs("content-type", contentType), value)
	})
}

func FuzzJSONFG(f *testing.F) {
	f.Add([]byte(fg("null", `,"place":{"type":"Point","coordinates":[47.25,8.5]},"coordRefSys":"[EPSG:4326]","time":{"date":"2026-11-03"}`)))
	f.Add([]byte(fg("null", `,"place":{"type":"GeometryCollection","geometries":[{"type":"Prism"}]},"coordRefSys":["a"]`)))
	o := opener(f, envelope.Options{Format: envelope.JSONFG, Unsupported: envelope.UnsupportedGeometry})
	f.Fuzz(func(t *testing.T, value []byte) { hold(t, o, nil, value) })
}

func FuzzDebezium(f *testing.F) {
	f.Add([]byte(`{"after":{"id":7,"geometry":{"wkb":"AQEAAAAAAAAAAAAhQAAAAAAAoEdA","srid":4326}},"op":"c"}`))
	f.Add([]byte(`{"schema":{},"payload":{"before":{"id":7},"after":null,"op":"d"}}`))
	o := opener(f, envelope.Options{Format: envelope.Debezium})
	f.Fuzz(func(t *testing.T, value []byte) { hold(t, o, nil, value) })
}

// Rows with every form of a geometry and the published event are read.
func FuzzAvro(f *testing.F) {
	encoder := must.Get(envelope.NewEventEncoder())(f)
	text, raw := schema(f, rowSchema(`"string"`)), schema(f, rowSchema(`"bytes"`))
	r := registry{0: encoder.Schema(), 1: text, 2: raw}
	f.Add(0, confluent(f, text, 1, rowOf("SRID=4326;POINT (1 2)")))
	f.Add(1, confluent(f, raw, 2, rowOf(ewkb(f, geometry.EWKB))))
	tr := transformer(f)
	for _, one := range features() {
		feature := must.Get(tr.Decode([]byte(one)))(f)
		value := must.Get(encoder.Append(envelope.AppendConfluent(nil, 0), feature))(f)
		f.Add(2, value)
	}
	var openers []*envelope.Opener
	for _, format := range envelope.GeometryFormats() {
		openers = append(openers, opener(f, envelope.Options{Format: envelope.Avro, Registry: r, Row: envelope.Row{GeometryFormat: format}}))
	}
	f.Fuzz(func(t *testing.T, which int, value []byte) {
		if len(value) < 5 || value[0] != 0 || value[1]|value[2]|value[3] != 0 || value[4] > 2 {
			return // another schema
		}
		hold(t, openers[uint(which)%uint(len(openers))], nil, value)
	})
}
