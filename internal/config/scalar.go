package config

import (
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// kind is the YAML form of a value.
type kind int

const (
	textValue     kind = iota // plain text, without quotes
	quotedValue               // text in quotes or in a block
	variableValue             // the text of an environment variable, whose type follows from the key
	integerValue              // a number without a point, as the YAML parser reads it
	floatValue                // a number with a point
	boolValue                 // true or false
	nullValue                 // nothing, or null
	listValue                 // a list
	mappingValue              // a mapping
	otherValue                // .inf, .nan and other values that are never allowed
)

// written is a value in the form in which the user wrote it.
type written struct {
	kind kind
	text string
}

// readScalar returns the form and the text of n.
func readScalar(n ast.Node) written {
	switch s := n.(type) {
	case *ast.StringNode:
		if isQuoted(s) {
			return written{quotedValue, s.Value}
		}
		return written{textValue, s.Value}
	case *ast.LiteralNode:
		return written{quotedValue, s.Value.Value}
	case *ast.IntegerNode:
		return written{integerValue, s.GetToken().Value}
	case *ast.FloatNode:
		return written{floatValue, s.GetToken().Value}
	case *ast.BoolNode:
		return written{boolValue, strconv.FormatBool(s.Value)}
	case *ast.NullNode:
		if s.GetToken().Type == token.ImplicitNullType {
			return written{nullValue, ""}
		}
		return written{nullValue, s.GetToken().Value}
	case *ast.SequenceNode:
		return written{listValue, ""}
	case *ast.MappingNode, *ast.MappingValueNode:
		if text, ok := gluedText(n); ok {
			return written{textValue, text}
		}
		return written{mappingValue, ""}
	}
	return written{otherValue, n.GetToken().Value}
}

func isQuoted(n ast.Node) bool {
	kind := n.GetToken().Type
	return kind == token.SingleQuoteType || kind == token.DoubleQuoteType
}

// gluedText corrects a mistake of the YAML parser (goccy/go-yaml issue 832). In a list inside braces, such as {brokers:
// [a:9092]}, the parser reads a:9092 as a mapping. By YAML 1.2, section 7.3.3, a colon without a following blank is part
// of plain text.
func gluedText(n ast.Node) (string, bool) {
	m, ok := n.(*ast.MappingNode)
	if !ok || m.IsFlowStyle || len(m.Values) != 1 {
		return "", false
	}
	pair := m.Values[0]
	head, ok := plainText(pair.Key)
	if !ok || !follows(pair.Key, head, pair.Start) {
		return "", false
	}
	tail, ok := plainText(pair.Value)
	if !ok || !follows(pair, ":", firstToken(pair.Value)) {
		return "", false
	}
	return head + ":" + tail, true
}

// plainText returns the text of a plain value as it was written. It joins a value that the parser split.
func plainText(n ast.Node) (string, bool) {
	switch n.(type) {
	case *ast.StringNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return n.GetToken().Value, !isQuoted(n)
	}
	return gluedText(n)
}

// firstToken returns the first token of a value. For a split value, this is its key and not its colon.
func firstToken(n ast.Node) *token.Token {
	if m, ok := n.(*ast.MappingNode); ok && len(m.Values) > 0 {
		return firstToken(m.Values[0].Key)
	}
	return n.GetToken()
}

// follows reports whether next begins directly after the text of n.
func follows(n ast.Node, text string, next *token.Token) bool {
	at := n.GetToken().Position
	return at.Line == next.Position.Line && at.Column+utf8.RuneCountInString(text) == next.Position.Column
}

// isText reports whether w can be text: plain, quoted, or from a variable.
func (w written) isText() bool { return w.kind <= variableValue }

// isValue reports whether w is a single value, and not a list, a mapping or null.
func (w written) isValue() bool {
	return w.kind != nullValue && w.kind != listValue && w.kind != mappingValue
}

// describe describes the value for a message, without showing a secret.
func (w written) describe(secret bool) string {
	switch {
	case w.kind == nullValue:
		return "nothing"
	case w.kind == listValue:
		return "a list"
	case w.kind == mappingValue:
		return "a mapping"
	case secret:
		return "something else"
	case w.kind == integerValue || w.kind == floatValue:
		return "the number " + w.text
	case w.kind == boolValue || w.kind == otherValue:
		return w.text
	case w.kind == variableValue:
		return show(w.text)
	default:
		return "text " + show(w.text)
	}
}

// isScalar reports whether a type holds a single value, and not a list or a mapping.
func isScalar(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.String, reflect.Bool, reflect.Int, reflect.Int32, reflect.Int64, reflect.Float64:
		return true
	default:
		return false
	}
}

func isDuration(t reflect.Type) bool { return t == reflect.TypeFor[Duration]() }

// typeWords returns the words for a type in a message: the singular, the plural, and advice how to write a value.
func typeWords(t reflect.Type) (one, several, advice string) {
	switch kind := t.Kind(); {
	case isDuration(t):
		return "a duration such as 500ms, 2s or 1h", "durations such as 500ms, 2s or 1h", "write a number and a unit, such as 500ms, 2s or 1h"
	case kind == reflect.Bool:
		return "true or false", "", "write true or false, without quotes"
	case kind == reflect.Float64:
		return "a number", "numbers", "write a plain decimal number, such as 2.5, without quotes"
	case kind == reflect.String:
		return "text", "texts", "write text"
	case kind == reflect.Struct, kind == reflect.Map:
		return "a mapping (key: value)", "mappings (key: value)", ""
	case kind == reflect.Interface:
		return "a value", "values", ""
	case kind == reflect.Slice:
		_, several, _ := typeWords(t.Elem())
		return "a list of " + several, "lists", ""
	}
	return "a whole number", "whole numbers", "write plain digits, without quotes, point or underscores"
}

// expected returns the name of a type for a message.
func expected(t reflect.Type) string {
	one, _, _ := typeWords(t)
	return one
}

// advice returns how to write a value of a type correctly.
func advice(t reflect.Type, w written, secret bool) string {
	_, _, fix := typeWords(t)
	number, text := w.kind == integerValue || w.kind == floatValue, t.Kind() == reflect.String
	switch {
	case isDuration(t) && number:
		return "write the unit: " + w.text + "s for seconds, " + w.text + "ms for milliseconds"
	case text && secret && w.isValue():
		return "write a name, not the secret"
	case text && (number || w.kind == boolValue):
		return fmt.Sprintf("put it in quotes: %q", w.text)
	}
	return fix
}

// scalar decodes one value into v and checks it against its rules.
func (d *decoder) scalar(path string, line, column int, w written, v reflect.Value, r rules) {
	if w.kind == nullValue && w.text == "null" && slices.Contains(r.words, "null") {
		w.kind = textValue // the word null, as in on_error: null, which users write without quotes
	}
	message, fix := set(v, w, r)
	if message == "" {
		message, fix = r.check(v)
	}
	if message == "" {
		return
	}
	if reason := forbiddenValue(path, w); reason != "" {
		message += ", and forbidden: " + reason
	}
	d.fault(path, line, column, message, fix)
}

// forbiddenValue returns why a value that is out of range is a forbidden retry pattern, or "".
func forbiddenValue(path string, w written) string {
	key, ofPolicy := path[strings.LastIndexByte(path, '.')+1:], strings.HasPrefix(path, retryPath)
	n, err := strconv.ParseFloat(w.text, 64)
	below := err == nil && n < 1 || err != nil && strings.HasPrefix(w.text, "0") || strings.HasPrefix(w.text, "-")
	endless := n > 1000 || slices.Contains([]string{"unlimited", "infinite", "forever", ".inf"}, fold(w.text))
	switch {
	case !ofPolicy:
	case key == "max_attempts" && (below || endless):
		return infinite
	case key == "multiplier" && below:
		return growing
	case key == "retry_after_limit" && below:
		return impatient
	}
	return ""
}

// set writes w into v. It returns the error message and the fix, or "" on success.
func set(v reflect.Value, w written, r rules) (message, fix string) {
	whole := v.CanInt() && !isDuration(v.Type()) && w.kind != quotedValue && decimalPattern.MatchString(w.text)
	switch {
	case w.kind == nullValue:
		return "has no value", "write " + expected(v.Type()) + ", or remove the key to have its default"
	case len(r.words) > 0 && w.isText() && !slices.Contains(r.words, w.text):
		return refuseWord(w.text, r.words)
	case assign(v, w):
		return "", ""
	case whole:
		return "the number " + show(w.text) + " is too large", "write a smaller one"
	}
	return "expected " + expected(v.Type()) + ", found " + w.describe(r.secretNeighbor), advice(v.Type(), w, r.secretNeighbor)
}

// Plain decimal numbers of the YAML 1.2 core schema. Hexadecimal, octal, leading zeros and underscores are refused,
// because tools read them differently.
var (
	decimalPattern = regexp.MustCompile(`^[-+]?(0|[1-9][0-9]*)$`)
	floatPattern   = regexp.MustCompile(`^[-+]?(0|[1-9][0-9]*)(\.[0-9]*)?([eE][-+]?[0-9]+)?$`)
)

// parseFloat reads a finite decimal number.
func parseFloat(text string) (float64, bool) {
	f, err := strconv.ParseFloat(text, 64)
	return f, err == nil && !math.IsInf(f, 0) && floatPattern.MatchString(text)
}

// assign writes w into v. It returns false if w has another type.
func assign(v reflect.Value, w written) bool {
	switch kind := v.Kind(); {
	case isDuration(v.Type()):
		std, err := time.ParseDuration(w.text)
		if err != nil || !w.isText() {
			return false
		}
		v.SetInt(int64(std))
	case kind == reflect.String:
		if !w.isText() {
			return false
		}
		v.SetString(w.text)
	case kind == reflect.Bool:
		truth, lie := strings.EqualFold(w.text, "true"), strings.EqualFold(w.text, "false")
		if w.kind != boolValue && w.kind != variableValue || !truth && !lie {
			return false
		}
		v.SetBool(truth)
	case kind == reflect.Float64:
		f, ok := parseFloat(w.text)
		if w.kind == quotedValue || !ok {
			return false
		}
		v.SetFloat(f)
	default:
		whole, err := strconv.ParseInt(w.text, 10, v.Type().Bits())
		if w.kind == quotedValue || err != nil || !decimalPattern.MatchString(w.text) {
			return false
		}
		v.SetInt(whole)
	}
	return true
}

// refuseWord returns the message and the fix for a word that is not in a closed list.
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
