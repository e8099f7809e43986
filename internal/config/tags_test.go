package config

import (
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A default that breaks the limits of its own key would only show in a file that spells it out.
func TestDefaults_every_default_is_legal(t *testing.T) {
	walkType("", reflect.TypeFor[Config](), func(path string, k key) {
		typ, r := k.typ, k.rules
		if typ.Kind() == reflect.Slice {
			typ, r = typ.Elem(), r.ofElement()
		}
		for _, text := range k.rules.defaults {
			v := reflect.New(typ).Elem()
			if message, _ := set(v, written{variableValue, text}, r); message != "" {
				t.Errorf("%s: default %s: %s", path, text, message)
			} else if message, _ := r.check(v); message != "" {
				t.Errorf("%s: default %s: %s", path, text, message)
			}
		}
	})
}

func TestRules_every_tag_is_understood(t *testing.T) {
	known := []string{"required", "minimum", "maximum", "exclusiveMinimum", "minLength", "maxLength", "minItems", "maxItems", "uniqueItems", "pattern", "default", "enum"}
	var structs func(reflect.Type)
	seen := map[reflect.Type]bool{}
	structs = func(typ reflect.Type) {
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice || typ.Kind() == reflect.Map {
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct || seen[typ] {
			return
		}
		seen[typ] = true
		for field := range typ.Fields() {
			if !field.IsExported() || field.Tag.Get("yaml") == "-" {
				continue
			}
			checkTags(t, typ.Name()+"."+field.Name, field.Tag, known)
			structs(field.Type)
		}
	}
	structs(reflect.TypeFor[Config]())
}

func checkTags(t *testing.T, name string, tag reflect.StructTag, known []string) {
	t.Helper()
	if tag.Get("yaml") == "" {
		t.Errorf("%s has no yaml name", name)
	}
	for item := range strings.SplitSeq(tag.Get("jsonschema"), ",") {
		rule, value, _ := strings.Cut(item, "=")
		if rule != "" && !slices.Contains(known, rule) {
			t.Errorf("%s: the decoder does not know the rule %q", name, rule)
		}
		if slices.Contains([]string{"minimum", "maximum", "exclusiveMinimum"}, rule) && number(value) == nil {
			t.Errorf("%s: %s is not a number", name, item)
		}
	}
	for _, limit := range []string{"least", "most"} {
		if text := tag.Get(limit); text != "" {
			if _, err := time.ParseDuration(text); err != nil {
				t.Errorf("%s: %s: %v", name, limit, err)
			}
		}
	}
}

// Every key must say in the source what it is for; the schema takes its descriptions from there.
func TestConfig_every_field_has_a_docstring(t *testing.T) {
	eachDeclaration(t, func(decl *ast.GenDecl) {
		for _, spec := range decl.Specs {
			typ, ok := spec.(*ast.TypeSpec)
			if !ok {
				continue
			}
			body, ok := typ.Type.(*ast.StructType)
			if !ok {
				continue
			}
			for _, field := range body.Fields.List {
				if field.Tag != nil && strings.Contains(field.Tag.Value, "yaml:") && field.Doc.Text() == "" {
					t.Errorf("%s.%s has no docstring", typ.Name.Name, field.Names[0].Name)
				}
			}
		}
	})
}

func TestWords_are_closed(t *testing.T) {
	lists := map[string][]string{
		"Delivery": texts(Deliveries()), "LogLevel": texts(LogLevels()), "OrderingMode": texts(OrderingModes()), "OutputFormat": texts(OutputFormats()),
		"AvroFraming": texts(AvroFramings()), "Collections": texts(CollectionRules()),
		"AuditScope": texts(AuditScopes()), "NullKeyRule": texts(NullKeyRules()), "Strategy": texts(Strategies()), "Mechanism": texts(Mechanisms()), "Preset": texts(Presets()),
		"HTTPMethod": texts(HTTPMethods()), "BreakerPreset": texts(BreakerPresets()), "RetryAfterScope": texts(RetryAfterScopes()), "AnswerFormat": texts(AnswerFormats()),
	}
	found := map[string][]string{}
	eachDeclaration(t, func(decl *ast.GenDecl) {
		for _, spec := range decl.Specs {
			value, ok := spec.(*ast.ValueSpec)
			if !ok || decl.Tok != token.CONST || value.Type == nil {
				continue
			}
			name := value.Type.(*ast.Ident).Name
			if lists[name] == nil {
				continue
			}
			for _, expr := range value.Values {
				text, err := strconv.Unquote(expr.(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				found[name] = append(found[name], text)
			}
		}
	})
	if !reflect.DeepEqual(found, lists) {
		t.Errorf("constants %v\nlists %v", found, lists)
	}
}

// eachDeclaration visits the declarations of the package's source.
func eachDeclaration(t *testing.T, visit func(*ast.GenDecl)) {
	t.Helper()
	files := sourceFiles(t)
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			if gen, ok := decl.(*ast.GenDecl); ok {
				visit(gen)
			}
		}
	}
}
