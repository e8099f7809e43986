package envelope_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/envelope"
	"github.com/switchback-geo/switchback/pkg/envelope/avro"
	"github.com/switchback-geo/switchback/pkg/geometry"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// registry is a schema registry of a few schemas.
type registry map[int]*avro.Schema

// errRegistry stands for a registry that does not answer.
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

// pairs makes headers of names and values.
func pairs(all ...string) []kgo.RecordHeader {
	var out []kgo.RecordHeader
	for i := 0; i+1 < len(all); i += 2 {
		out = append(out, kgo.RecordHeader{Key: all[i], Value: []byte(all[i+1])})
	}
	return out
}

// text is the GeoJSON of what was opened, or what else it is.
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

// hold opens a record and holds the result to what is promised: an error with
// everything in it, a delete, or a feature that has a text.
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

// FuzzSplit: FeatureCollections of every JSON format.
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

// FuzzAvro: rows with every form of a geometry, and the published event.
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
