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
	tr, err := transform.New(transform.Config{})
	must.Do(t, err)
	return tr
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
