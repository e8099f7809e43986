package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/invopop/jsonschema"
	validator "github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
)

//go:generate go test -run TestSchema_S0_1_equals_the_Go_types -update

const schemaFile = "../../schemas/pipeline.schema.json"

func TestSchema_S0_1_equals_the_Go_types(t *testing.T) {
	path := must.Get(filepath.Abs(schemaFile))(t)
	golden(t, path, generateSchema(t))
}

// generateSchema generates the schema from the types, their tags and their comments.
func generateSchema(t *testing.T) string {
	t.Helper()
	t.Chdir("../..") // comments are found by the path of their package
	const module = "github.com/switchback-geo/switchback"
	r := &jsonschema.Reflector{
		FieldNameTag: "yaml", RequiredFromJSONSchemaTags: true, ExpandedStruct: true,
		BaseSchemaID: "https://github.com/switchback-geo/switchback", Mapper: mapType, Namer: nameType,
	}
	for _, dir := range []string{"./internal/config", "./pkg/transform", "./pkg/classify"} {
		must.Do(t, r.AddGoComments(module, dir))
	}
	r.LookupComment = func(t reflect.Type, field string) string { return describe(r.CommentMap, t, field) }
	schema := r.ReflectFromType(reflect.TypeFor[Config]())
	schema.ID = "https://github.com/switchback-geo/switchback/schemas/pipeline.schema.json"
	schema.Title = "Switchback pipeline file"
	schema.Description = "Describes one pipeline. pipeline alone is enough; every other key has a default."
	closeCategories(schema)
	typeDefaults(schema)
	for _, definition := range schema.Definitions {
		typeDefaults(definition)
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	must.Do(t, encoder.Encode(schema))
	return out.String()
}

// describe returns the comment of a field with its Go name replaced by the name of its key.
func describe(comments map[string]string, t reflect.Type, field string) string {
	if field == "" {
		return "" // the library finds the comment of the type on its own
	}
	text := strings.Join(strings.Fields(comments[t.PkgPath()+"."+t.Name()+"."+field]), " ")
	f, ok := t.FieldByName(field)
	if rest, found := strings.CutPrefix(text, field+" "); ok && found {
		name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		return name + " " + rest
	}
	return text
}

// mapType returns the schema of the types that are text in YAML.
func mapType(t reflect.Type) *jsonschema.Schema {
	if t == reflect.TypeFor[Duration]() {
		return &jsonschema.Schema{Type: "string", Pattern: `^([0-9]+(\.[0-9]*)?(ns|us|ms|s|m|h))+$`}
	}
	return nil
}

// nameType distinguishes the two types that are called Config.
func nameType(t reflect.Type) string {
	if t.Name() != "" && strings.HasSuffix(t.PkgPath(), "pkg/transform") {
		return "Transform" + t.Name()
	}
	return ""
}

// allowNull lets a key that accepts the word null accept it without quotes, like the decoder.
func allowNull(schema *jsonschema.Schema) {
	if slices.Contains(schema.Enum, any("null")) {
		schema.Type = ""
		schema.Enum = append(schema.Enum, nil)
	}
}

// closeCategories lists the categories of a policy. The library would allow any key of the map.
func closeCategories(schema *jsonschema.Schema) {
	policies, _ := schema.Definitions["RetryPolicy"].Properties.Get("policies")
	policies.PropertyNames = &jsonschema.Schema{}
	for _, category := range classify.RetriedCategories() {
		policies.PropertyNames.Enum = append(policies.PropertyNames.Enum, string(category))
	}
}

// typeDefaults writes the defaults of a list of numbers as numbers. The library writes them as text.
func typeDefaults(schema *jsonschema.Schema) {
	if schema.Properties == nil {
		return
	}
	for pair := schema.Properties.Oldest(); pair != nil; pair = pair.Next() {
		allowNull(pair.Value)
		defaults, ok := pair.Value.Default.([]any)
		if !ok || pair.Value.Items.Type != "integer" {
			continue
		}
		for i, text := range defaults {
			defaults[i] = json.Number(text.(string))
		}
	}
}

func compiledSchema(t *testing.T) *validator.Schema {
	t.Helper()
	text := must.Get(os.ReadFile(schemaFile))(t)
	doc := must.Get(validator.UnmarshalJSON(bytes.NewReader(text)))(t)
	compiler := validator.NewCompiler()
	must.Do(t, compiler.AddResource("pipeline.schema.json", doc))
	return must.Get(compiler.Compile("pipeline.schema.json"))(t)
}

// plainValue parses YAML like a generic tool, without the types of this package.
func plainValue(t *testing.T, text []byte) (any, bool) {
	t.Helper()
	d := &decoder{faults: &Faults{}, origins: newOrigins()}
	var value any
	ok := d.document(text, reflect.ValueOf(&value).Elem())
	return value, ok && len(d.faults.List) == 0
}

func TestSchema_accepts_every_good_file(t *testing.T) {
	schema := compiledSchema(t)
	for _, path := range goodFiles(t) {
		text := must.Get(os.ReadFile(path))(t)
		value, ok := plainValue(t, text)
		if !ok {
			t.Errorf("%s: not plain YAML", path)
			continue
		}
		expect.Do(t, schema.Validate(value), path)
	}
}

func TestSchema_refuses_faults_of_form(t *testing.T) {
	schema := compiledSchema(t)
	for name, text := range map[string]string{
		"unknown key":        minimalText + "speed: 3\n",
		"missing key":        strings.Replace(minimalText, "  id: parcels\n", "", 1),
		"wrong type":         strings.Replace(minimalText, "max_attempts: 5", "max_attempts: five", 1),
		"out of range":       strings.Replace(minimalText, "max_attempts: 5", "max_attempts: 0", 1),
		"unknown word":       minimalText + "delivery: sometimes\n",
		"duration as number": minimalText + "dedupe: {window: 5}\n",
	} {
		value, ok := plainValue(t, []byte(text))
		expect.That(t, ok && schema.Validate(value) != nil, "%s: the schema accepts it", name)
	}
}

const referenceFile = "../../deploy/config.reference.yaml"

func readReference(t *testing.T) string {
	t.Helper()
	text := must.Get(os.ReadFile(referenceFile))(t)
	return string(text)
}

// mustParse parses a valid configuration.
func mustParse(t *testing.T, text string) *Config {
	t.Helper()
	return must.Get(Parse("test.yaml", []byte(text), nil))(t)
}

// values returns the configuration without its positions in the file.
func values(cfg *Config) Config {
	out := *cfg
	out.origins = nil
	return out
}

func TestReference_S0_3_equals_the_defaults(t *testing.T) {
	minimal := must.Get(os.ReadFile("testdata/minimal.yaml"))(t)
	reference := values(mustParse(t, readReference(t)))
	want := values(mustParse(t, string(minimal)))
	expect.That(t, reflect.DeepEqual(reference, want), "the reference file differs from the defaults\nreference: %#v\n defaults: %#v", reference, want)
}

func TestReference_shows_every_key(t *testing.T) {
	minimal := must.Get(os.ReadFile("testdata/minimal.yaml"))(t)
	shown := keysIn(mustParse(t, readReference(t)))
	examples := examplesOf(readReference(t))
	must.That(t, len(examples) >= 4, "found only %d examples", len(examples))
	for _, example := range examples {
		if !strings.HasPrefix(example, "pipeline:") { // a file of its own
			example = string(minimal) + example
		}
		shown = append(shown, keysIn(mustParse(t, example))...)
	}
	for _, path := range Paths() {
		expect.That(t, slices.Contains(shown, path), "%s is missing", path)
	}
}

// keysIn lists the keys that a file contains, in the form of [Paths].
func keysIn(cfg *Config) []string {
	index := regexp.MustCompile(`\[\d+\]`)
	var out []string
	for path := range cfg.origins.places {
		out = append(out, index.ReplaceAllString(path, "[]"))
	}
	return out
}

// examplesOf returns the commented-out parts after lines "# Example:", without the comment signs.
func examplesOf(text string) []string {
	var out []string
	inside := false
	for line := range strings.SplitSeq(text, "\n") {
		comment, isComment := strings.CutPrefix(strings.TrimSpace(line), "# ")
		switch {
		case isComment && comment == "Example:":
			out = append(out, "")
			inside = true
		case isComment && inside:
			out[len(out)-1] += comment + "\n"
		default:
			inside = false
		}
	}
	return out
}

// update rewrites the golden files and the schema.
var update = flag.Bool("update", false, "rewrite golden files and the schema")

// Every bad file has the faults of the file next to it. There is one file per rule.
func TestBad_S0_1_every_rule_has_its_faults(t *testing.T) {
	for _, path := range badFiles(t) {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".yaml"), func(t *testing.T) {
			faults := faultsOf(t, path)
			golden(t, strings.TrimSuffix(path, ".yaml")+".golden", faults.Error()+"\n")
			for _, f := range faults.List {
				expect.That(t, f.Line >= 1 && f.Column >= 1, "no place: %+v", f)
				expect.That(t, f.Message != "" && f.Fix != "", "fault without a message or a remedy: %+v", f)
			}
			expect.That(t, !strings.Contains(faults.Error(), "hunter2") && !strings.Contains(faults.Error(), "2222"), "a fault shows a secret")
		})
	}
}

// messages are the messages for each case of a table.
type messages map[string]string

func (m messages) add(name string, err error) { m[name] = fmt.Sprint(err) }

// golden compares all messages with testdata/NAME.golden, in the order of the cases' names.
func (m messages) golden(t *testing.T, name string) {
	t.Helper()
	var out strings.Builder
	for _, about := range slices.Sorted(maps.Keys(m)) {
		fmt.Fprintf(&out, "# %q\n%s\n", about, m[about])
	}
	golden(t, filepath.Join("testdata", name+".golden"), out.String())
}

func badFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/bad/*.yaml")
	must.That(t, err == nil && len(files) != 0, "no bad files: %v", err)
	return files
}

// faultsOf loads a file that must have faults.
func faultsOf(t *testing.T, path string) *Faults {
	t.Helper()
	text, err := os.ReadFile(path)
	must.Do(t, err)
	_, err = Parse(filepath.Base(path), text, nil)
	var faults *Faults
	must.That(t, errors.As(err, &faults), "want faults, got %v", err)
	return faults
}

// golden compares got with the text of a file, or rewrites the file with -update.
func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		must.Do(t, os.WriteFile(path, []byte(got), 0o644))
		return
	}
	want := must.Get(os.ReadFile(path))(t)
	expect.That(t, got == string(want), "%s\n got:\n%s\nwant:\n%s", path, got, want)
}
