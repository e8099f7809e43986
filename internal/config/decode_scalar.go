package config

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// isScalar reports whether one value, not a list or a mapping, is written for a type.
func isScalar(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.String, reflect.Bool, reflect.Int, reflect.Int32, reflect.Int64, reflect.Float64:
		return true
	default:
		return false
	}
}

// expected names a type in a message.
func expected(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[Duration]():
		return "a duration such as 500ms, 2s or 1h"
	case t.Kind() == reflect.Bool:
		return "true or false"
	case t.Kind() == reflect.Int, t.Kind() == reflect.Int32, t.Kind() == reflect.Int64:
		return "a whole number"
	case t.Kind() == reflect.Float64:
		return "a number"
	case t.Kind() == reflect.Slice:
		return "a list of " + entries(t.Elem())
	}
	return "text"
}

// entries names what a list holds.
func entries(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[Duration]():
		return "durations such as 500ms, 2s or 1h"
	case t.Kind() == reflect.Int:
		return "whole numbers"
	case t.Kind() == reflect.Struct, t.Kind() == reflect.Map:
		return "mappings (key: value)"
	case t.Kind() == reflect.Interface:
		return "values"
	}
	return "texts"
}

// scalar decodes one value into v and holds it against its rules.
func (d *decoder) scalar(path string, line, column int, w written, v reflect.Value, r rules) {
	complain := func(message, fix string) {
		if reason := forbiddenValue(path, w); reason != "" && !d.foreign {
			message += ", and forbidden: " + reason
		}
		d.fault(path, line, column, message, fix)
	}
	if w.kind == nullValue && w.text == "null" && slices.Contains(r.words, "null") {
		w.kind = textValue // the word null, as in on_error: null, for which nobody writes quotes
	}
	if w.kind == nullValue {
		complain("has no value", "write "+expected(v.Type())+", or remove the key to have its default")
		return
	}
	message, fix := set(v, w, r)
	if message == "" {
		message, fix = r.check(v)
	}
	if message != "" {
		complain(message, fix)
	}
}

// set writes w into v. It returns what is wrong and what to do, or "".
func set(v reflect.Value, w written, r rules) (message, fix string) {
	found := w.describe()
	if r.secretNeighbor {
		found = w.describeSecret()
	}
	wrong := "expected " + expected(v.Type()) + ", found " + found
	switch {
	case v.Type() == reflect.TypeFor[Duration]():
		return setDuration(v, w, wrong)
	case v.Kind() == reflect.String:
		return setString(v, w, wrong, r)
	case v.Kind() == reflect.Bool:
		return setBool(v, w, wrong)
	case v.Kind() == reflect.Float64:
		return setFloat(v, w, wrong)
	}
	return setInt(v, w, wrong)
}

func setDuration(v reflect.Value, w written, wrong string) (message, fix string) {
	const example = "write a number and a unit, such as 500ms, 2s or 1h"
	switch w.kind {
	case integerValue, floatValue:
		return wrong, "write the unit: " + w.text + "s for seconds, " + w.text + "ms for milliseconds"
	case textValue, quotedValue, variableValue:
		std, err := time.ParseDuration(w.text)
		if err != nil {
			return wrong, example
		}
		v.SetInt(int64(std))
		return "", ""
	default:
		return wrong, example
	}
}

func setString(v reflect.Value, w written, wrong string, r rules) (message, fix string) {
	switch w.kind {
	case textValue, quotedValue, variableValue:
	case integerValue, floatValue, boolValue:
		if r.secretNeighbor {
			return wrong, "write a name, not the secret"
		}
		return wrong, fmt.Sprintf("put it in quotes: %q", w.text)
	default:
		return wrong, "write text"
	}
	if len(r.words) > 0 && !slices.Contains(r.words, w.text) {
		return refuseWord(w.text, r.words)
	}
	v.SetString(w.text)
	return "", ""
}

// refuseWord returns what is wrong with a word that is not in a closed list, and what to do about it.
func refuseWord(word string, words []string) (message, fix string) {
	known := slices.Clone(words)
	if i := slices.Index(known, ""); i >= 0 {
		known[i] = `""`
	}
	fix = "write " + strings.Join(known, " or ")
	if near := Nearest(word, words); near != "" {
		fix = "did you mean " + near + "? Known: " + strings.Join(known, ", ")
	}
	return "unknown word " + show(word), fix
}

func setBool(v reflect.Value, w written, wrong string) (message, fix string) {
	text := w.text
	if w.kind == variableValue {
		text = strings.ToLower(text)
	}
	if (w.kind == boolValue || w.kind == variableValue) && (text == "true" || text == "false") {
		v.SetBool(text == "true")
		return "", ""
	}
	return wrong, "write true or false, without quotes"
}

func setInt(v reflect.Value, w written, wrong string) (message, fix string) {
	const example = "write plain digits, without quotes, point or underscores"
	if w.kind == quotedValue || !isDecimal(w.text) {
		return wrong, example
	}
	whole, err := strconv.ParseInt(w.text, 10, v.Type().Bits())
	if err != nil {
		return "the number " + show(w.text) + " is too large", "write a smaller one"
	}
	v.SetInt(whole)
	return "", ""
}

func setFloat(v reflect.Value, w written, wrong string) (message, fix string) {
	f, ok := parseFloat(w.text)
	if w.kind == quotedValue || !ok {
		return wrong, "write a plain decimal number, such as 2.5, without quotes"
	}
	v.SetFloat(f)
	return "", ""
}

// check holds a value that was read against the limits of its key.
func (r rules) check(v reflect.Value) (message, fix string) {
	switch {
	case v.Type() == reflect.TypeFor[Duration]():
		return r.checkDuration(Duration(v.Int()))
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
	below := r.minimum != nil && n < *r.minimum || r.above != nil && n <= *r.above
	beyond := r.maximum != nil && n > *r.maximum
	if !below && !beyond {
		return "", ""
	}
	return text + " is out of range", "write a number " + r.span()
}

// span says the range of a number in words.
func (r rules) span() string {
	show := func(f *float64) string { return strconv.FormatFloat(*f, 'f', -1, 64) }
	var parts []string
	if r.minimum != nil {
		parts = append(parts, "from "+show(r.minimum))
	}
	if r.above != nil {
		parts = append(parts, "above "+show(r.above))
	}
	if r.maximum != nil {
		parts = append(parts, "to "+show(r.maximum))
	}
	return strings.Join(parts, " ")
}

func (r rules) checkDuration(d Duration) (message, fix string) {
	if d.Std() >= r.least && (r.most == 0 || d.Std() <= r.most) {
		return "", ""
	}
	return d.String() + " is out of range", fmt.Sprintf("write a duration from %s to %s", Duration(r.least), Duration(r.most))
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

// misshapen returns what is wrong with a text that does not match the pattern of its key, and what to write; "" for a pattern whose key
// has a rule that says more.
func (r rules) misshapen() (message, fix string) {
	switch r.pattern {
	case `^([A-Za-z_][A-Za-z0-9_]*)?$`:
		if r.secretNeighbor {
			return "is not the name of an environment variable", "write the name of the variable that holds the secret, not the secret"
		}
		return "is not the name of a column", "write letters, digits and underscores"
	case `^[A-Za-z_][A-Za-z0-9_]*$`:
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
		return "finds no row", "write record_key, feature_id, or a path into the record key such as key.id"
	}
	return "", ""
}

// ofElement gives the rules that hold for each entry of a list.
func (r rules) ofElement() rules {
	return rules{
		minimum: r.minimum, maximum: r.maximum, above: r.above, least: r.least, most: r.most,
		words: r.words, secretNeighbor: r.secretNeighbor,
	}
}
