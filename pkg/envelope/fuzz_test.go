package envelope_test

import (
	"errors"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/envelope"
	"github.com/switchback-geo/switchback/pkg/geometry"
	"github.com/switchback-geo/switchback/pkg/transform"
)

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
