package registry

import (
	"encoding/json"
	"errors"

	"github.com/switchback-geo/switchback/internal/jsonschema"
	"github.com/switchback-geo/switchback/pkg/envelope/avro"
)

// Schema reads and writes, as JSON, the values that a schema of the registry describes: an [*avro.Schema], or a JSON Schema.
type Schema interface {
	// Text gives as JSON the value that follows the id of the schema.
	Text(value []byte) ([]byte, error)
	// AppendText appends the value that a JSON text describes. The error names the field that the schema does not take.
	AppendText(dst, text []byte) ([]byte, error)
}

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
