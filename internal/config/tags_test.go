package config

import (
	"reflect"
	"slices"
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
