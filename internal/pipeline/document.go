package pipeline

import (
	"bytes"
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/registry"
	"github.com/switchback-geo/switchback/pkg/envelope"
	"github.com/switchback-geo/switchback/pkg/envelope/avro"
	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// Document is a record's value as JSON, for a person to edit: the text itself, the text after the ID of a JSON Schema,
// or an Avro datum in Avro's JSON encoding.
type Document struct {
	JSON []byte
	back func(text []byte) ([]byte, error)
}

// Value encodes an edited document in its original format and with its original schema. The error names the field that
// does not fit the schema.
func (d Document) Value(text []byte) ([]byte, error) { return d.back(text) }

// Document returns a record's value as JSON. It returns an error if the record is a delete or its schema is unknown.
func (m *Mapping) Document(ctx context.Context, value []byte) (Document, error) {
	if value == nil {
		return Document{}, fmt.Errorf("a delete has no value to edit")
	}
	if !envelope.IsFramed(value) {
		return Document{JSON: value, back: func(text []byte) ([]byte, error) { return text, nil }}, nil
	}
	schema, body, err := m.schemaOf(ctx, value)
	if err != nil {
		return Document{}, err
	}
	text, err := schema.Text(body)
	if err != nil {
		return Document{}, err
	}
	frame := bytes.Clone(value[:len(value)-len(body)])
	return Document{JSON: text, back: func(text []byte) ([]byte, error) { return schema.AppendText(bytes.Clone(frame), text) }}, nil
}

// LatestSchema returns the ID of the latest schema of a subject in the registry.
func (m *Mapping) LatestSchema(ctx context.Context, subject string) (id int, err error) {
	return m.schemas.Latest(ctx, subject)
}

// AppendWith appends a document's value, encoded with the registry's schema of an ID. Missing Avro fields get their
// defaults. The error names the field that does not fit the schema.
func (m *Mapping) AppendWith(ctx context.Context, id int, text []byte) ([]byte, error) {
	schema, err := m.schemas.Schema(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("schema %d: %w", id, err)
	}
	if schema, ok := schema.(*avro.Schema); ok {
		if text, err = schema.Complete(text); err != nil {
			return nil, err
		}
	}
	return schema.AppendText(envelope.AppendConfluent(nil, id), text)
}

// schemaOf returns the schema that a framed value names.
func (m *Mapping) schemaOf(ctx context.Context, value []byte) (schema registry.Schema, body []byte, err error) {
	id, body, ok := envelope.CutConfluent(value)
	if !ok || m.schemas == nil {
		return m.opener.Frame(ctx, value)
	}
	if schema, err = m.schemas.Schema(ctx, id); err != nil {
		return nil, nil, fmt.Errorf("schema %d: %w", id, err)
	}
	return schema, body, nil
}

// Identify returns the identity of a record's content, as the consumer does. For a record that cannot be opened, only
// the bytes are known.
func (m *Mapping) Identify(ctx context.Context, key []byte, headers []kgo.RecordHeader, value []byte) retrytopics.Identity {
	content, err := m.Open(ctx, headers, value)
	switch {
	case err != nil:
		return unread(key, value)
	case content.Delete:
		return retrytopics.Identity{FeatureID: content.FeatureID, ContentHash: idempotency.Of(key, nil).String()}
	case len(content.Features) == 1 && content.Features[0] != nil: // a part that is a dead letter
		return m.named(m.identity(content.Features[0]), content.Features[0])
	case content.Features != nil:
		c, _ := m.collection(&retrytopics.Record{Control: &header.Control{}, Value: value}, &content) // its faults are reported when it is read
		return retrytopics.Identity{ContentHash: hashOf(c.contents).String()}
	}
	return m.named(m.identity(content.Feature), content.Feature)
}

// unread returns the identity of a record that was not read: its bytes are its content.
func unread(key, value []byte) retrytopics.Identity {
	return retrytopics.Identity{ContentHash: idempotency.Of(key, value).String()}
}

func (m *Mapping) identity(source *transform.Feature) retrytopics.Identity {
	return retrytopics.Identity{
		FeatureID:   source.IDString(),
		BBox:        source.BBoxString(),
		ContentHash: m.contentHash(source).String(),
	}
}

// named returns an identity with the ID that the mapping makes, if the source has none, so that a feature that fails can
// be found by it.
func (m *Mapping) named(id retrytopics.Identity, source *transform.Feature) retrytopics.Identity {
	if id.FeatureID == "" {
		id.FeatureID = m.transformer.TargetID(source)
	}
	return id
}

// maxContent is the largest buffer for contents that is kept between two features.
const maxContent = 1 << 20

// contentHash hashes everything that the mapping can read of a feature.
func (m *Mapping) contentHash(source *transform.Feature) idempotency.Hash {
	content, _ := m.contents.Get().(*[]byte)
	if content == nil {
		content = new([]byte)
	}
	*content = m.transformer.AppendContent((*content)[:0], source)
	hash := idempotency.Of(*content)
	if cap(*content) <= maxContent {
		m.contents.Put(content)
	}
	return hash
}
