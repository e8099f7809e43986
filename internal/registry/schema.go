package registry

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/switchback-geo/switchback/internal/jsonschema"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/envelope/avro"
)

// Schema reads and writes, as JSON, the values that a schema of the registry describes: an [*avro.Schema], or a JSON Schema.
type Schema interface {
	// Text gives as JSON the value that follows the id of the schema.
	Text(value []byte) ([]byte, error)
	// AppendText appends the value that a JSON text describes. The error names the field that the schema does not take.
	AppendText(dst, text []byte) ([]byte, error)
}

// Latest returns the id of the latest schema of a subject. It is asked for at each call. The errors are those of [Client.Schema].
func (c *Client) Latest(ctx context.Context, subject string) (id int, err error) {
	if err := c.outage.refusal(); err != nil {
		return 0, err
	}
	what := "get the latest schema of " + strconv.Quote(subject)
	ctx, asked := recorded(ctx)
	found, err := c.client.SchemaByVersion(ctx, subject, latest)
	switch {
	case err != nil:
		err = failed(err, what, 0)
	case found.ID <= 0:
		err = noAnswer(what+": the answer has no id", classify.StageEncode, nil)
	}
	return found.ID, c.outage.note(asked.mark(err))
}

// latest is how the client is asked for the latest version of a subject.
const latest = -1

// jsonSchema is the [Schema] of values that are JSON themselves.
type jsonSchema struct{ *jsonschema.Schema }

func compileJSON(text string, references []jsonschema.Reference) (Schema, error) {
	schema, err := jsonschema.CompileRegistered([]byte(text), references...)
	if err != nil {
		return nil, &avro.SchemaError{Message: err.Error()}
	}
	return jsonSchema{schema}, nil
}

// Text returns the value as it is.
func (jsonSchema) Text(value []byte) ([]byte, error) {
	if !json.Valid(value) {
		return nil, errors.New("its schema is a JSON Schema, and what follows its id is no JSON")
	}
	return value, nil
}

// AppendText checks the text and appends it as it is.
func (s jsonSchema) AppendText(dst, text []byte) ([]byte, error) {
	if err := s.Check(text); err != nil {
		return nil, err
	}
	return append(dst, text...), nil
}
