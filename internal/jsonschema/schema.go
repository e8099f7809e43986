package jsonschema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// Schema is a compiled JSON Schema. It may be used by many goroutines.
type Schema struct{ compiled *jsonschema.Schema }

// Reference is a schema that another one refers to by a name, which is a URL or part of one.
type Reference struct{ Name, Text string }

// Limits of compiled schemas and checked values.
const (
	maxSchema   = 1 << 20 // bytes of a schema
	maxExponent = 1000    // of a number: comparing two numbers computes all of their digits
)

// root is the name of a schema without an $id while it is compiled. Relative references are resolved below it.
const root = "schema:///schema.json"

// Compile compiles a schema that refers only to the given ones. A schema without a declared draft is of draft
// 2020-12.
func Compile(text []byte, references ...Reference) (*Schema, error) {
	return compile(jsonschema.Draft2020, text, references)
}

// CompileRegistered is [Compile] for a schema of a registry: a schema without a declared draft is one of draft 7, as in
// the serializers.
func CompileRegistered(text []byte, references ...Reference) (*Schema, error) {
	return compile(jsonschema.Draft7, text, references)
}

func compile(draft *jsonschema.Draft, text []byte, references []Reference) (*Schema, error) {
	parsed, err := parseSchema(text)
	if err != nil {
		return nil, err
	}
	base := root
	if id := idOf(parsed); id != "" {
		base = id
	}
	known := given{}
	for _, r := range references {
		other, err := parseSchema([]byte(r.Text))
		if err != nil {
			return nil, fmt.Errorf("%s, to which it refers: %w", r.Name, err)
		}
		known.add(base, r.Name, other)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(draft)
	c.UseLoader(known)
	if err := c.AddResource(root, parsed); err != nil {
		return nil, fmt.Errorf("JSON Schema: %w", err)
	}
	compiled, err := c.Compile(root)
	if err != nil {
		return nil, fmt.Errorf("JSON Schema: %w", err)
	}
	return &Schema{compiled}, nil
}

func parseSchema(text []byte) (any, error) {
	if len(text) > maxSchema {
		return nil, fmt.Errorf("the JSON Schema has %d bytes; the maximum is %d", len(text), maxSchema)
	}
	parsed, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("the JSON Schema cannot be read: %w", err)
	}
	return parsed, nil
}

// parse reads JSON whose numbers can be compared.
func parse(text []byte) (any, error) {
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("it is no JSON: %w", err)
	}
	return parsed, checkNumbers(parsed)
}

func checkNumbers(v any) error {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			if err := checkNumbers(member); err != nil {
				return fmt.Errorf("/%s%w", name, err)
			}
		}
	case []any:
		for i, element := range v {
			if err := checkNumbers(element); err != nil {
				return fmt.Errorf("/%d%w", i, err)
			}
		}
	case json.Number:
		_, exponent, has := strings.Cut(strings.ToLower(string(v)), "e")
		if n, err := strconv.Atoi(exponent); has && (err != nil || n < -maxExponent || n > maxExponent) {
			return fmt.Errorf(": its exponent is beyond %d", maxExponent)
		}
	}
	return nil
}

// Check returns an error with the path of the first field that does not satisfy the schema.
func (s *Schema) Check(value []byte) error {
	parsed, err := parse(value)
	if err != nil {
		return fmt.Errorf("cannot be compared with the schema: %w", err)
	}
	err = s.compiled.Validate(parsed)
	if invalid, ok := errors.AsType[*jsonschema.ValidationError](err); ok {
		return fmt.Errorf("does not satisfy the schema: %s", deepest(invalid))
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
