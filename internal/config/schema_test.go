package config

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/invopop/jsonschema"
	validator "github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/transform"
)

//go:generate go test -run TestSchema_S0_1_equals_the_Go_types -update

const schemaFile = "../../schemas/pipeline.schema.json"

func TestSchema_S0_1_equals_the_Go_types(t *testing.T) {
	path, err := filepath.Abs(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, path, generateSchema(t))
}

// generateSchema reflects the schema from the types, their tags and their comments.
func generateSchema(t *testing.T) string {
	t.Helper()
	t.Chdir("../..") // comments are found by the path of their package
	const module = "github.com/switchback-geo/switchback"
	r := &jsonschema.Reflector{
		FieldNameTag: "yaml", RequiredFromJSONSchemaTags: true, ExpandedStruct: true,
		BaseSchemaID: "https://github.com/switchback-geo/switchback", Mapper: mapType, Namer: nameType,
	}
	for _, dir := range []string{"./internal/config", "./pkg/transform"} {
		if err := r.AddGoComments(module, dir); err != nil {
			t.Fatal(err)
		}
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
	if err := encoder.Encode(schema); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// describe gives the comment of a field, which begins with its Go name, the name of its key instead.
func describe(comments map[string]string, t reflect.Type, field string) string {
	if field == "" {
		return "" // the library finds the comment of the type by itself
	}
	text := strings.Join(strings.Fields(comments[t.PkgPath()+"."+t.Name()+"."+field]), " ")
	f, ok := t.FieldByName(field)
	if rest, found := strings.CutPrefix(text, field+" "); ok && found {
		name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		return name + " " + rest
	}
	return text
}

// mapType gives the schema of the types that are text in YAML.
func mapType(t reflect.Type) *jsonschema.Schema {
	if t == reflect.TypeFor[Duration]() {
		return &jsonschema.Schema{Type: "string", Pattern: `^([0-9]+(\.[0-9]*)?(ns|us|ms|s|m|h))+$`}
	}
	var words []string
	if t == reflect.TypeFor[transform.GeometryType]() {
		words = texts(transform.GeometryTypes())
	}
	if typ, ok := reflect.TypeAssert[closed](reflect.Zero(t)); ok {
		words = typ.vocabulary().now
	}
	if words == nil {
		return nil
	}
	schema := &jsonschema.Schema{Type: "string"}
	for _, word := range words {
		schema.Enum = append(schema.Enum, word)
	}
	return schema
}

// nameType keeps the two types called Config apart.
func nameType(t reflect.Type) string {
	if t.Name() != "" && strings.HasSuffix(t.PkgPath(), "pkg/transform") {
		return "Transform" + t.Name()
	}
	return ""
}

// allowNull lets a key whose words have null take it without quotes, as the decoder does.
func allowNull(schema *jsonschema.Schema) {
	if slices.Contains(schema.Enum, any("null")) {
		schema.Type = ""
		schema.Enum = append(schema.Enum, nil)
	}
}

// closeCategories names the categories that a policy may have; to the library the keys of a map are free.
func closeCategories(schema *jsonschema.Schema) {
	policies, _ := schema.Definitions["RetryPolicy"].Properties.Get("policies")
	policies.PropertyNames = &jsonschema.Schema{}
	for _, category := range classify.RetriedCategories() {
		policies.PropertyNames.Enum = append(policies.PropertyNames.Enum, string(category))
	}
}

// typeDefaults writes the defaults of a list of numbers as numbers; the library writes them as text.
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
	text, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := validator.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	compiler := validator.NewCompiler()
	if err := compiler.AddResource("pipeline.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("pipeline.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// plainValue reads YAML as a generic tool does: without the types of this package.
func plainValue(t *testing.T, text []byte) (any, bool) {
	t.Helper()
	ok := true
	node := readDocument(text, func(int, int, string, string) { ok = false })
	if node == nil {
		return nil, ok
	}
	d := &decoder{faults: &Faults{}, origins: newOrigins()}
	value, free := d.nested("", node)
	return value, ok && free && len(d.faults.List) == 0
}

func TestSchema_accepts_every_good_file(t *testing.T) {
	schema := compiledSchema(t)
	for _, path := range goodFiles(t) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		value, ok := plainValue(t, text)
		if !ok {
			t.Errorf("%s: not plain YAML", path)
			continue
		}
		if err := schema.Validate(value); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// beyondSchema lists the bad files whose fault no schema can tell: rules between two keys, and
// rules that need a parser of their own. The test holds the list exact in both directions.
func beyondSchema() []string {
	return []string{
		"engine_commit_interval",
		"engine_held_bytes",
		"enrich_breaker_among",
		"enrich_breaker_window",
		"enrich_http_beside_providers",
		"enrich_method",
		"enrich_name_twice",
		"enrich_network",
		"enrich_nobody_to_ask",
		"enrich_provider_twice",
		"enrich_providers_timeout",
		"enrich_set_empty",
		"enrich_set_no_name",
		"enrich_set_pointer",
		"enrich_sql",
		"enrich_stac",
		"enrich_timeout",
		"enrich_url_brace_close",
		"enrich_url_brace_open",
		"enrich_url_dot_segment",
		"enrich_url_name",
		"enrich_url_unparsable",
		"enrich_wfs",
		"format_debezium_without_schemas",
		"format_split_without_effect", "collections_without_effect",
		"engine_instance_adopt",
		"engine_instance_control",
		"format_without_effect",
		"governance_threshold_S3-8",
		"kafka_sasl_both",
		"kafka_sasl_incomplete",
		"kafka_sasl_off",
		"kafka_tls_half_a_certificate",
		"kafka_tls_off",
		"metrics_listen_port",
		"output_avro_target_crs",
		"output_avro_without_effect",
		"output_avro_without_registry",
		"registry_login_both",
		"registry_login_half",
		"registry_off",
		"registry_range",
		"registry_tls_of_http",
		"replayer_index_file",
		"replayer_two_places",
		"retry_base_delay_above_default_max",
		"retry_base_delay_above_max",
		"retry_category_delays",
		"retry_code_in_both_lists",
		"retry_first_tier_differs_from_base_delay",
		"retry_last_tier_beyond_max_delay",
		"retry_tiers_not_ascending",
		"retry_tiers_part_of_millisecond",
		"retry_tiers_range",
		"sink_key_of_a_collection",
		"sink_key_without_effect",
		"sink_names",
		"sink_schema_name",
		"topic_name_derived_too_long",
		"topic_pipeline_id_dots",
		"topic_same",
		"transform_grids_no_effect",
		"transform_grids_no_folder",
		"transform_mapping",
		"transform_on_error_nothing", // to a schema, nothing and null are one
		"transform_rules",
	}
}

func TestSchema_refuses_every_bad_file_that_is_structurally_bad(t *testing.T) {
	schema := compiledSchema(t)
	for _, path := range badFiles(t) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		value, ok := plainValue(t, text)
		refused := !ok || schema.Validate(value) != nil
		name := strings.TrimSuffix(filepath.Base(path), ".yaml")
		switch listed := slices.Contains(beyondSchema(), name); {
		case !refused && !listed:
			t.Errorf("%s: the schema accepts it", name)
		case refused && listed:
			t.Errorf("%s: the schema refuses it by itself; take it off the list", name)
		}
	}
}
