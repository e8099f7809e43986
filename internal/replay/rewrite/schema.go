package rewrite

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// schema is a JSON Schema that stands by itself.
type schema struct{ compiled *jsonschema.Schema }

// name is what the schema is called while it is read.
const name = "schema.json"

// maxSchema bounds the text of a schema.
const maxSchema = 1 << 20

// alone refuses what a schema refers to outside of itself.
type alone struct{}

// Load implements [jsonschema.URLLoader].
func (alone) Load(url string) (any, error) {
	return nil, fmt.Errorf("it refers to %s: put all definitions into one schema", url)
}

func newSchema(text []byte) (*schema, error) {
	if len(text) > maxSchema {
		return nil, fmt.Errorf("%w: the JSON Schema has %d bytes, at most %d can be", ErrRewrite, len(text), maxSchema)
	}
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("%w: the JSON Schema is no JSON: %w", ErrRewrite, err)
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(alone{})
	if err := c.AddResource(name, parsed); err != nil {
		return nil, fmt.Errorf("%w: JSON Schema: %w", ErrRewrite, err)
	}
	compiled, err := c.Compile(name)
	if err != nil {
		return nil, fmt.Errorf("%w: JSON Schema: %w", ErrRewrite, err)
	}
	return &schema{compiled}, nil
}

// check says where a value does not satisfy the schema.
func (s *schema) check(value []byte) error {
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	if err != nil {
		return fmt.Errorf("%w: the result is no JSON, and cannot be held against the schema", ErrRewrite)
	}
	err = s.compiled.Validate(parsed)
	if invalid, ok := errors.AsType[*jsonschema.ValidationError](err); ok {
		return fmt.Errorf("%w: the result does not satisfy the schema: %s", ErrRewrite, deepest(invalid))
	}
	return err
}

// deepest is the first cause of a fault, with the place in the value.
func deepest(e *jsonschema.ValidationError) string {
	for len(e.Causes) > 0 {
		e = e.Causes[0]
	}
	return "/" + strings.Join(e.InstanceLocation, "/") + ": " + e.ErrorKind.LocalizedString(message.NewPrinter(language.English))
}
