package config

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// key is one key of a mapping: a struct field and the rules in its tags.
type key struct {
	name  string
	index int
	typ   reflect.Type
	rules rules
}

// rules are the limits of one value. They stand in the tag that the JSON schema is generated
// from, so that both refuse the same. Of a list, the number limits hold for each element.
type rules struct {
	required       bool
	minimum        *float64
	maximum        *float64
	above          *float64 // exclusive minimum
	maxLength      int      // of text, in characters; 0 = none
	minLength      int
	pattern        string // of text
	minItems       int
	maxItems       int // 0 = none
	unique         bool
	words          []string // of a closed list; none when any text is legal
	defaults       []string // more than one only for a list
	least, most    time.Duration
	example        string
	secretNeighbor bool // never echo the value: people put the secret itself here by mistake
}

// keysOf lists the keys of a struct type in the order of its fields.
func keysOf(t reflect.Type) []key {
	var out []key
	for i := range t.NumField() {
		field := t.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		if !field.IsExported() || name == "-" {
			continue
		}
		if name == "" {
			name = strings.ToLower(field.Name)
		}
		out = append(out, key{name: name, index: i, typ: field.Type, rules: readRules(field.Tag)})
	}
	return out
}

// namesOf lists the names of the keys of a struct type.
func namesOf(t reflect.Type) []string {
	keys := keysOf(t)
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = k.name
	}
	return names
}

// findKey returns the key of the given name.
func findKey(t reflect.Type, name string) (key, bool) {
	keys := keysOf(t)
	i := slices.IndexFunc(keys, func(k key) bool { return k.name == name })
	if i < 0 {
		return key{}, false
	}
	return keys[i], true
}

// readRules reads the tags. A tag that does not parse is a mistake of this package, which
// TestRules_every_tag_is_understood finds; here it is passed over.
func readRules(tag reflect.StructTag) rules {
	r := rules{example: tag.Get("example"), secretNeighbor: tag.Get("echo") == "no"}
	r.least, _ = time.ParseDuration(tag.Get("least"))
	r.most, _ = time.ParseDuration(tag.Get("most"))
	for item := range strings.SplitSeq(tag.Get("jsonschema"), ",") {
		name, value, _ := strings.Cut(item, "=")
		switch name {
		case "required":
			r.required = true
		case "minimum":
			r.minimum = number(value)
		case "maximum":
			r.maximum = number(value)
		case "exclusiveMinimum":
			r.above = number(value)
		case "minLength":
			r.minLength, _ = strconv.Atoi(value)
		case "maxLength":
			r.maxLength, _ = strconv.Atoi(value)
		case "pattern":
			r.pattern = value
		case "minItems":
			r.minItems, _ = strconv.Atoi(value)
		case "maxItems":
			r.maxItems, _ = strconv.Atoi(value)
		case "uniqueItems":
			r.unique = true
		case "enum":
			r.words = append(r.words, value)
		case "default":
			r.defaults = append(r.defaults, value)
		}
	}
	return r
}

func number(text string) *float64 {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil
	}
	return &f
}
