package schemas

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// compile gives the schema and the document that it was made from.
func compile(t *testing.T, name string) (*jsonschema.Schema, map[string]any) {
	t.Helper()
	text := must.Get(Read(name))(t)
	doc := must.Get(jsonschema.UnmarshalJSON(bytes.NewReader(text)))(t)
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	must.Do(t, compiler.AddResource(name, doc))
	schema := must.Get(compiler.Compile(name))(t)
	members, ok := doc.(map[string]any)
	must.That(t, ok, "%s is not an object", name)
	return schema, members
}

func TestSchemas_C_7_each_is_a_schema_and_its_examples_are_valid(t *testing.T) {
	names := must.Get(Names())(t)
	for _, wanted := range []string{Pipeline, AuditEvent, DeadLetterState} {
		expect.That(t, strings.Contains(strings.Join(names, " "), wanted), "%s is missing of %v", wanted, names)
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			schema, doc := compile(t, name)
			id, _ := doc["$id"].(string)
			expect.That(t, strings.HasSuffix(id, "/schemas/"+name), "$id %q does not end with the name of the file", id)
			expect.That(t, doc["title"] != nil && doc["description"] != nil, "no title or description")
			examples, _ := doc["examples"].([]any)
			for i, example := range examples {
				expect.Do(t, schema.Validate(example), "example", i)
			}
		})
	}
}

func TestSchemas_refuse_what_the_contract_does_not_know(t *testing.T) {
	const event = `{"time":"2026-11-03T04:05:06.120Z","pipeline":"p","source":"a/0/1","decision":"delivered","attempt":1`
	const state = `{"id":"0-7-9a8b7c6d","status":"pending","reprocess_count":0,"at":"2026-11-03T04:05:06.120Z"`
	for name, c := range map[string]struct {
		schema, start, change string
		valid                 bool
	}{
		"event":                     {AuditEvent, event, `}`, true},
		"event of a later version":  {AuditEvent, event, `,"new_member":1}`, true},
		"no decision of the list":   {AuditEvent, event, `,"decision":"mislaid"}`, false},
		"retried without due":       {AuditEvent, event, `,"decision":"retried","destination":"a.retry-2s"}`, false},
		"dead letter without code":  {AuditEvent, event, `,"decision":"dead_lettered"}`, false},
		"source is no position":     {AuditEvent, event, `,"source":"a/0"}`, false},
		"time in another zone":      {AuditEvent, event, `,"time":"2026-11-03T04:05:06.120+01:00"}`, false},
		"negative attempt":          {AuditEvent, event, `,"attempt":-1}`, false},
		"state":                     {DeadLetterState, state, `}`, true},
		"no status of the list":     {DeadLetterState, state, `,"status":"lost"}`, false},
		"key hash of another size":  {DeadLetterState, state, `,"key_hash":"334f"}`, false},
		"hash of another algorithm": {DeadLetterState, state, `,"content_hash":"md5:00"}`, false},
		"DLQ is no position":        {DeadLetterState, state, `,"dlq":"a.dlq"}`, false},
		"negative count":            {DeadLetterState, state, `,"reprocess_count":-1}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			// A later member of the same name replaces the earlier one, as encoding/json reads it.
			var value map[string]any
			decoder := json.NewDecoder(strings.NewReader(c.start + c.change))
			decoder.UseNumber()
			must.Do(t, decoder.Decode(&value))
			schema, _ := compile(t, c.schema)
			err := schema.Validate(value)
			expect.That(t, (err == nil) == c.valid, "valid = %v, want %v: %v", err == nil, c.valid, err)
		})
	}
}

func TestRead_names_the_file_that_is_missing(t *testing.T) {
	_, err := Read("none.json")
	expect.That(t, err != nil && strings.Contains(err.Error(), "none.json"), "got %v", err)
}
