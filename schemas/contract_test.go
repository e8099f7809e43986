package schemas

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// The schemas stand beside the code that writes the records; these tests read that code's source,
// since this package imports nothing of the project.

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
		{AuditEvent, "../internal/audit", "wire"},
		{DeadLetterState, "../internal/deadletters", "stateWire"},
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

// constants gives the values of the constants of one type, sorted.
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

// members gives the JSON names of a struct's fields, sorted, and those that are never left out.
func members(t *testing.T, dir, typ string) (all, always []string) {
	t.Helper()
	eachSpec(t, dir, func(spec ast.Spec) {
		def, ok := spec.(*ast.TypeSpec)
		if !ok || def.Name.Name != typ {
			return
		}
		for _, field := range def.Type.(*ast.StructType).Fields.List {
			name, options, _ := strings.Cut(reflect.StructTag(strings.Trim(field.Tag.Value, "`")).Get("json"), ",")
			all = append(all, name)
			if !strings.Contains(options, "omitempty") {
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
