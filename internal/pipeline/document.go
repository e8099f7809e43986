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

// Document is a record's value as JSON, for a person to edit: the text itself, what follows the id of a JSON Schema, or what an Avro
// datum is in Avro's own JSON encoding.
type Document struct {
	JSON []byte
	back func(text []byte) ([]byte, error)
}

// Value writes an edited document in the format that it came from, with the schema that it came with. The error names the field that
// the schema does not take.
func (d Document) Value(text []byte) ([]byte, error) { return d.back(text) }

// Document gives a record's value as JSON. The error says why a value has none: a delete, or one whose schema is not known.
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

// LatestSchema returns the id of the latest schema of a subject of the registry.
func (m *Mapping) LatestSchema(ctx context.Context, subject string) (id int, err error) {
	return m.schemas.Latest(ctx, subject)
}

// AppendWith appends the value that a document describes to the id of a schema of the registry. Fields of Avro that are missing get their
// defaults. The error names the field that the schema does not take.
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

// schemaOf finds the schema that a framed value names.
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

// Identify says what a record is about, as the consumer does: of one that cannot be opened, only that its bytes are these.
func (m *Mapping) Identify(ctx context.Context, key []byte, headers []kgo.RecordHeader, value []byte) retrytopics.Identity {
	content, err := m.Open(ctx, headers, value)
	switch {
	case err != nil:
		return unread(key, value)
	case content.Delete:
		return retrytopics.Identity{FeatureID: content.FeatureID, ContentHash: idempotency.Of(key, nil).String()}
	case len(content.Features) == 1 && content.Features[0] != nil: // a part that is a dead letter
		return m.identity(content.Features[0])
	case content.Features != nil:
		c, _ := m.collection(&retrytopics.Record{Control: &header.Control{}, Value: value}, &content) // what is wrong with it is told when it is read
		return retrytopics.Identity{ContentHash: hashOf(c.contents).String()}
	}
	return m.identity(content.Feature)
}

// unread is the identity of a record that was not read: its bytes are its content.
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

// maxContent is the room that a buffer for contents keeps between two features.
const maxContent = 1 << 20

// contentHash hashes what the mapping can read of a feature.
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
