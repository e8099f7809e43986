package schemas

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// compile returns the schema and the document from which it was compiled.
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
		"source is not a position":  {AuditEvent, event, `,"source":"a/0"}`, false},
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

// The schemas describe records that other packages write; these tests read those packages' source code, since this
// package imports nothing of the project.

func TestSchemas_name_the_words_that_the_code_knows(t *testing.T) {
	for _, c := range []struct{ schema, member, dir, typ string }{
		{AuditEvent, "decision", "../internal/audit", "Decision"},
		{AuditEvent, "class", "../pkg/classify", "Class"},
		{DeadLetterState, "status", "../internal/deadletters", "Status"},
	} {
		t.Run(c.schema+" "+c.member, func(t *testing.T) {
			words := constants(t, c.dir, c.typ)
			_, doc := compile(t, c.schema)
			var listed []string
			for _, word := range property(doc, c.member)["enum"].([]any) {
				listed = append(listed, word.(string))
			}
			slices.Sort(listed)
			expect.That(t, slices.Equal(words, listed), "%s.%s has %v, the schema lists %v", c.dir, c.typ, words, listed)
		})
	}
}

func TestSchemas_name_the_members_that_the_code_writes(t *testing.T) {
	for _, c := range []struct{ schema, dir, typ string }{
		{AuditEvent, "../internal/audit", "Event"},
		{DeadLetterState, "../internal/deadletters", "State"},
	} {
		t.Run(c.schema, func(t *testing.T) {
			written, always := members(t, c.dir, c.typ)
			_, doc := compile(t, c.schema)
			listed := slices.Sorted(maps.Keys(doc["properties"].(map[string]any)))
			expect.That(t, slices.Equal(written, listed), "%s writes %v, the schema lists %v", c.dir, written, listed)
			for _, required := range doc["required"].([]any) {
				expect.That(t, slices.Contains(always, required.(string)), "%v is required, but may be left out by %s", required, c.dir)
			}
		})
	}
}

func property(doc map[string]any, name string) map[string]any {
	return doc["properties"].(map[string]any)[name].(map[string]any)
}

// constants returns the values of the constants of one type, sorted.
func constants(t *testing.T, dir, typ string) []string {
	t.Helper()
	var words []string
	eachSpec(t, dir, func(spec ast.Spec) {
		value, ok := spec.(*ast.ValueSpec)
		if !ok || value.Type == nil {
			return
		}
		name, ok := value.Type.(*ast.Ident)
		if !ok || name.Name != typ {
			return
		}
		for _, expr := range value.Values {
			literal, ok := expr.(*ast.BasicLit)
			if !ok {
				return // a variable
			}
			word := must.Get(strconv.Unquote(literal.Value))(t)
			words = append(words, word)
		}
	})
	must.That(t, len(words) != 0, "%s has no constants of type %s", dir, typ)
	slices.Sort(words)
	return words
}

// members returns the JSON names of a struct's fields, sorted, and those that are never left out.
func members(t *testing.T, dir, typ string) (all, always []string) {
	t.Helper()
	eachSpec(t, dir, func(spec ast.Spec) {
		def, ok := spec.(*ast.TypeSpec)
		if !ok || def.Name.Name != typ {
			return
		}
		for _, field := range def.Type.(*ast.StructType).Fields.List {
			name, options, _ := strings.Cut(reflect.StructTag(strings.Trim(field.Tag.Value, "`")).Get("json"), ",")
			if name == "-" {
				continue
			}
			all = append(all, name)
			if !strings.Contains(options, "omit") {
				always = append(always, name)
			}
		}
	})
	must.That(t, len(all) != 0, "%s has no type %s", dir, typ)
	slices.Sort(all)
	return all, always
}

// eachSpec visits every declaration of a package's source, without its tests.
func eachSpec(t *testing.T, dir string, visit func(ast.Spec)) {
	t.Helper()
	packages := must.Get(parser.ParseDir(token.NewFileSet(), dir, nil, 0))(t)
	for name, pkg := range packages {
		if strings.HasSuffix(name, "_test") {
			continue
		}
		for _, file := range pkg.Files {
			for _, decl := range file.Decls {
				if gen, ok := decl.(*ast.GenDecl); ok {
					for _, spec := range gen.Specs {
						visit(spec)
					}
				}
			}
		}
	}
}
