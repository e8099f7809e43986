package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sr"

	"github.com/switchback-geo/switchback/pkg/envelope"
	"github.com/switchback-geo/switchback/pkg/transform"
	"github.com/switchback-geo/switchback/schemas"
)

// form is how an event is written.
type form string

// The forms.
const (
	formGeoJSON     form = "geojson"     // schemas/feature-event.v1.json: the Feature as it is
	formCloudEvents form = "cloudevents" // the same in a CloudEvent, binary mode
	formAvro        form = "avro"        // schemas/feature-event.v1.avsc
)

func forms() []form { return []form{formGeoJSON, formCloudEvents, formAvro} }

// write makes the record of an event. It may be called for one event after the other.
type write func(Event) (*kgo.Record, error)

// writer returns what writes events as the options say. For Avro it registers the schema, or without a registry writes
// single-object encoding.
func (o options) writer(ctx context.Context) (write, error) {
	switch o.form {
	case formGeoJSON:
		return func(e Event) (*kgo.Record, error) { return o.record(e.Key, e.Value, "application/geo+json"), nil }, nil
	case formCloudEvents:
		return func(e Event) (*kgo.Record, error) { return o.cloudEvent(e), nil }, nil
	case formAvro:
		return o.avroWriter(ctx)
	}
	return nil, fmt.Errorf("%q is none of %v", o.form, forms())
}

func (o options) record(key string, value []byte, contentType string, more ...kgo.RecordHeader) *kgo.Record {
	headers := append([]kgo.RecordHeader{{Key: "content-type", Value: []byte(contentType)}}, more...)
	return &kgo.Record{Topic: o.topic, Key: []byte(key), Value: value, Headers: headers}
}

// cloudEvent writes CloudEvents 1.0 in binary mode (Kafka protocol binding, section 3.2): the attributes are headers. Id and
// source name the event; the subject is the feature.
func (o options) cloudEvent(e Event) *kgo.Record {
	var attributes []kgo.RecordHeader
	for _, a := range [][2]string{
		{"specversion", "1.0"}, {"id", uuid.NewString()}, {"source", "/examples/producer"}, {"type", "feature.changed.v1"},
		{"subject", e.Key}, {"time", time.Now().UTC().Format(time.RFC3339Nano)},
	} {
		attributes = append(attributes, kgo.RecordHeader{Key: "ce_" + a[0], Value: []byte(a[1])})
	}
	return o.record(e.Key, e.Value, "application/geo+json", attributes...)
}

// avroWriter writes the published Avro event. Its geometry is WKB in WGS 84, so the Feature is decoded, strictly: what a
// consumer would refuse to read is refused here.
func (o options) avroWriter(ctx context.Context) (write, error) {
	decoder, err := transform.New(transform.Config{})
	if err != nil {
		return nil, err
	}
	encoder, err := envelope.NewEventEncoder()
	if err != nil {
		return nil, err
	}
	framing := envelope.AppendSingleObject(nil, encoder.Schema())
	if o.registry != "" {
		id, err := o.register(ctx)
		if err != nil {
			return nil, err
		}
		framing = envelope.AppendConfluent(nil, id)
	}
	return func(e Event) (*kgo.Record, error) {
		feature, err := decoder.Decode(e.Value)
		if err != nil {
			return nil, fmt.Errorf("the feature %s: %w", e.Key, err)
		}
		value, err := encoder.Append(slices.Clone(framing), feature)
		if err != nil {
			return nil, fmt.Errorf("the feature %s: %w", e.Key, err)
		}
		return o.record(e.Key, value, "application/avro"), nil
	}, nil
}

// register registers the published schema and returns its id; one that is there keeps its id.
func (o options) register(ctx context.Context) (int, error) {
	text, err := schemas.Read(schemas.FeatureEventAvro)
	if err != nil {
		return 0, err
	}
	client, err := sr.NewClient(sr.URLs(strings.Split(o.registry, ",")...))
	if err != nil {
		return 0, fmt.Errorf("the schema registry %s: %w; write -registry http://host:8081", o.registry, err)
	}
	ctx, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	subject := o.topic + "-value"
	registered, err := client.CreateSchema(ctx, subject, sr.Schema{Schema: string(text), Type: sr.TypeAvro})
	if err != nil {
		return 0, fmt.Errorf("register %s under %s at the schema registry %s: %w", schemas.FeatureEventAvro, subject, o.registry, err)
	}
	return registered.ID, nil
}
