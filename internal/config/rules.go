package config

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// key is one key of a mapping: a struct field and the rules in its tags.
type key struct {
	name  string
	index int
	typ   reflect.Type
	tag   reflect.StructTag
}

// rules are the limits of one value. The JSON schema is generated from the same tag, so both refuse the same values. For
// a list, the limits of numbers and durations, and the words, apply to each element.
type rules struct {
	required                                 bool
	minimum, above, maximum                  *float64 // above is the exclusive minimum
	least, most                              Duration // limits of a duration; most 0 is no limit
	minLength, maxLength, minItems, maxItems int      // limits of a text in characters, and of a list; a maximum of 0 is no limit
	unique                                   bool     // list elements must be distinct
	pattern                                  string   // a regular expression that the text must match
	words                                    []string // the allowed words; empty if every text is allowed
	defaults                                 []string // several only for a list
	example                                  string
	secretNeighbor                           bool // never show the value, because users write the secret itself here by mistake
}

// keysOf returns the keys of a struct type in the order of its fields.
func keysOf(t reflect.Type) []key {
	var out []key
	for i := range t.NumField() {
		field := t.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		if field.IsExported() && name != "-" && name != "" {
			out = append(out, key{name: name, index: i, typ: field.Type, tag: field.Tag})
		}
	}
	return out
}

// namesOf returns the names of the keys of a struct type.
func namesOf(t reflect.Type) []string {
	var names []string
	for _, k := range keysOf(t) {
		names = append(names, k.name)
	}
	return names
}

// findKey returns the key with the given name.
func findKey(t reflect.Type, name string) (k key, ok bool) {
	keys := keysOf(t)
	i := slices.IndexFunc(keys, func(k key) bool { return k.name == name })
	if i < 0 {
		return key{}, false
	}
	return keys[i], true
}

// rules reads the tags of a key. It ignores text that does not parse.
func (k key) rules() rules {
	r := rules{example: k.tag.Get("example"), secretNeighbor: k.tag.Get("echo") == "no"}
	if isDuration(k.typ) || k.typ == reflect.TypeFor[[]Duration]() {
		_ = r.least.UnmarshalText([]byte(k.tag.Get("least")))
		_ = r.most.UnmarshalText([]byte(k.tag.Get("most")))
	}
	counts := map[string]*int{"minLength": &r.minLength, "maxLength": &r.maxLength, "minItems": &r.minItems, "maxItems": &r.maxItems}
	limits := map[string]**float64{"minimum": &r.minimum, "exclusiveMinimum": &r.above, "maximum": &r.maximum}
	for item := range strings.SplitSeq(k.tag.Get("jsonschema"), ",") {
		name, value, _ := strings.Cut(item, "=")
		if count := counts[name]; count != nil {
			*count, _ = strconv.Atoi(value)
		}
		if f, err := strconv.ParseFloat(value, 64); err == nil && limits[name] != nil {
			*limits[name] = &f
		}
		switch name {
		case "required":
			r.required = true
		case "uniqueItems":
			r.unique = true
		case "pattern":
			r.pattern = value
		case "enum":
			r.words = append(r.words, value)
		case "default":
			r.defaults = append(r.defaults, value)
		}
	}
	return r
}

// ofElement returns the rules for each entry of a list.
func (r rules) ofElement() rules {
	return rules{
		minimum: r.minimum, maximum: r.maximum, above: r.above, least: r.least, most: r.most,
		words: r.words, secretNeighbor: r.secretNeighbor,
	}
}

// applyDefaults writes the defaults of the tags into v and all fields below it.
func applyDefaults(v reflect.Value) {
	if v.Kind() != reflect.Struct {
		return
	}
	for _, k := range keysOf(v.Type()) {
		field := v.Field(k.index)
		defaults := k.rules().defaults
		switch n := len(defaults); {
		case n == 0:
			applyDefaults(field)
		case field.Kind() == reflect.Slice:
			field.Set(reflect.MakeSlice(field.Type(), n, n))
			for i, text := range defaults {
				assign(field.Index(i), written{variableValue, text})
			}
		default:
			assign(field, written{variableValue, defaults[0]})
		}
	}
}

// check checks a value against the limits of its key, and returns an empty message if the value is within them.
func (r rules) check(v reflect.Value) (message, fix string) {
	switch {
	case isDuration(v.Type()):
		if d := Duration(v.Int()); d < r.least || r.most > 0 && d > r.most {
			return d.String() + " is out of range", fmt.Sprintf("write a duration from %s to %s", r.least, r.most)
		}
	case v.CanInt():
		return r.checkNumber(float64(v.Int()), strconv.FormatInt(v.Int(), 10))
	case v.CanFloat():
		return r.checkNumber(v.Float(), strconv.FormatFloat(v.Float(), 'g', -1, 64))
	case v.Kind() == reflect.String:
		return r.checkText(v.String())
	}
	return "", ""
}

func (r rules) checkNumber(n float64, text string) (message, fix string) {
	var span strings.Builder
	out := false
	limit := func(word string, limit *float64, beyond func(limit float64) bool) {
		if limit != nil {
			span.WriteString(word + strconv.FormatFloat(*limit, 'f', -1, 64))
			out = out || beyond(*limit)
		}
	}
	limit(" from ", r.minimum, func(limit float64) bool { return n < limit })
	limit(" above ", r.above, func(limit float64) bool { return n <= limit })
	limit(" to ", r.maximum, func(limit float64) bool { return n > limit })
	if !out {
		return "", ""
	}
	return text + " is out of range", "write a number" + span.String()
}

func (r rules) checkText(text string) (message, fix string) {
	n := utf8.RuneCountInString(text)
	message, fix = r.misshapen()
	switch {
	case n < r.minLength:
		return "is empty", "write a value or remove the key"
	case r.maxLength > 0 && n > r.maxLength:
		return fmt.Sprintf("has %d characters", n), fmt.Sprintf("keep it within %d", r.maxLength)
	case message == "" || regexp.MustCompile(r.pattern).MatchString(text):
		return "", ""
	case r.secretNeighbor:
		return message, fix
	}
	return show(text) + " " + message, fix
}

// misshapen returns the message and the fix for a text that does not match the pattern of its key. It returns "" for a
// pattern whose key has a more precise rule.
func (r rules) misshapen() (message, fix string) {
	switch r.pattern {
	case `^([A-Za-z_][A-Za-z0-9_]*)?$`, `^[A-Za-z_][A-Za-z0-9_]*$`:
		if r.secretNeighbor {
			return "is not the name of an environment variable", "write the name of the variable that holds the secret, not the secret"
		}
		return "is not the name of a column", "write letters, digits and underscores"
	case `^[A-Za-z_][A-Za-z0-9_]*([.][A-Za-z_][A-Za-z0-9_]*)?$`:
		return "is not the name of a table", "write name or schema.name, of letters, digits and underscores"
	case `^[a-zA-Z0-9._-]*$`, `^[a-zA-Z0-9._-]*[a-zA-Z0-9_-][a-zA-Z0-9._-]*$`:
		return "cannot be a name in Kafka, or part of one", "use letters, digits, dot, underscore and hyphen"
	case `^[a-zA-Z0-9_-]+$`:
		return "is not a name", "use letters, digits, underscore and hyphen"
	case `^(properties\..+)?$`:
		return "names no property", "write properties. and its name, as in properties.updated"
	case `^(record_key|feature_id|key([.][^. ]+)*)$`:
		return "does not identify a row", "write record_key, feature_id, or a path into the record key such as key.id"
	}
	return "", ""
}

// Paths returns every key of the file, such as kafka.brokers. A list entry appears as [].
func Paths() []string {
	var out []string
	walkType("", reflect.TypeFor[Config](), func(path string, _ key) { out = append(out, path) })
	return out
}

// walkType calls each for every key below t, parents first.
func walkType(path string, t reflect.Type, each func(path string, k key)) {
	switch t.Kind() {
	case reflect.Pointer:
		walkType(path, t.Elem(), each)
	case reflect.Slice:
		walkType(path+"[]", t.Elem(), each)
	case reflect.Struct:
		for _, k := range keysOf(t) {
			child := join(path, k.name)
			each(child, k)
			walkType(child, k.typ, each)
		}
	default: // a single value, or a mapping with free keys
	}
}
