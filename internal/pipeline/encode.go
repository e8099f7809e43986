package pipeline

import (
	"context"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/registry"
	"github.com/switchback-geo/switchback/pkg/envelope"
	"github.com/switchback-geo/switchback/pkg/transform"
	"github.com/switchback-geo/switchback/schemas"
)

// The content types of the outputs: RFC 7946, section 12, and the usual name for Avro.
const (
	contentTypeGeoJSON = "application/geo+json"
	contentTypeAvro    = "application/avro"
)

// encoder writes mapped features in the output's format. Safe for concurrent use.
type encoder struct {
	output      config.Output
	transformer *transform.Transformer
	events      *envelope.EventEncoder // nil for GeoJSON
	schema      string                 // text of the event schema
	registry    *registry.Client       // nil unless the framing has a registry ID
}

func newEncoder(output config.Output, t *transform.Transformer, client *registry.Client) (*encoder, error) {
	e := &encoder{output: output, transformer: t, registry: client}
	if output.Format != config.OutputAvro {
		return e, nil
	}
	text, err := schemas.Read(output.Avro.Schema + ".avsc")
	if err != nil {
		return nil, err
	}
	e.schema = string(text)
	e.events, err = envelope.NewEventEncoder()
	return e, err
}

// encode encodes one feature. It returns a *transform.Error, or an error of [registry.Client.Register].
func (e *encoder) encode(ctx context.Context, f *transform.Feature) ([]byte, error) {
	if e.events == nil {
		return e.transformer.Encode(f)
	}
	header, err := e.framing(ctx)
	if err != nil {
		return nil, err
	}
	return e.events.Append(header, f)
}

// try encodes a feature without asking the schema registry, for a dry run: zeros replace the ID.
func (e *encoder) try(f *transform.Feature) ([]byte, error) {
	switch {
	case e.events == nil:
		return e.transformer.Encode(f)
	case e.output.Avro.Framing == config.FramingSingleObject:
		return e.events.Append(envelope.AppendSingleObject(nil, e.events.Schema()), f)
	}
	return e.events.Append(envelope.AppendConfluent(nil, 0), f)
}

// framing returns the bytes before a datum. The registry is asked once, and its answer is kept.
func (e *encoder) framing(ctx context.Context) ([]byte, error) {
	if e.output.Avro.Framing == config.FramingSingleObject {
		return envelope.AppendSingleObject(nil, e.events.Schema()), nil
	}
	ask := e.registry.Lookup
	if e.output.Avro.Register {
		ask = e.registry.Register
	}
	id, err := ask(ctx, e.output.Avro.Subject, e.schema)
	if err != nil {
		return nil, err
	}
	return envelope.AppendConfluent(nil, id), nil
}

// headers returns the producer's headers for an output, in order. Only the headers about the value's format change: an
// output has one content type, its own. If the producer sets none, GeoJSON gets none, and Avro does, because it could
// not be recognized otherwise.
func (e *encoder) headers(producer []kgo.RecordHeader, value []byte) []kgo.RecordHeader {
	isType := func(h kgo.RecordHeader) bool { return strings.EqualFold(h.Key, "content-type") }
	name, at := "content-type", slices.IndexFunc(producer, isType)
	switch {
	case value == nil, at < 0 && e.events == nil:
		return producer
	case at < 0:
		at = len(producer)
	default:
		name = producer[at].Key
	}
	contentType := contentTypeGeoJSON
	if e.events != nil {
		contentType = contentTypeAvro
	}
	others := slices.DeleteFunc(slices.Clone(producer), isType)
	return slices.Insert(others, at, kgo.RecordHeader{Key: name, Value: []byte(contentType)})
}

// Prepare asks the schema registry for the ID of the output schema, so that a registry that refuses the schema stops
// the start instead of every record. If the registry does not answer, the start continues and records are retried.
func (m *Mapping) Prepare(ctx context.Context) error {
	if m.encoder.events == nil {
		return nil
	}
	_, err := m.encoder.framing(ctx)
	return err
}
