package config

import (
	"math"
	"regexp"
	"strconv"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// kind is what a value looks like in YAML.
type kind int

const (
	textValue     kind = iota // plain text, without quotes
	quotedValue               // text in quotes or in a block
	integerValue              // a number without a point, as the YAML parser sees it
	floatValue                // a number with a point
	boolValue                 // true or false
	nullValue                 // nothing, or null
	listValue                 // a list
	mappingValue              // a mapping
	otherValue                // .inf, .nan and what else is never allowed
	variableValue             // the text of an environment variable: its type is what the key wants
)

// written is a value as somebody wrote it.
type written struct {
	kind kind
	text string
}

// readScalar says what n looks like.
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

// gluedText undoes a mistake of the YAML parser, which takes a:9092 for a mapping when it stands
// in a list inside of braces, as in {brokers: [a:9092]} (goccy/go-yaml issue 832). By YAML 1.2,
// section 7.3.3, a colon without a blank after it is part of plain text.
func gluedText(n ast.Node) (string, bool) {
	m, ok := n.(*ast.MappingNode)
	if !ok || m.IsFlowStyle || len(m.Values) != 1 {
		return "", false
	}
	pair := m.Values[0]
	head, ok := plainText(pair.Key)
	if !ok || isQuoted(pair.Key) || !follows(pair.Key, head, pair.Start) {
		return "", false
	}
	tail, ok := plainText(pair.Value)
	if !ok || !follows(pair, ":", firstToken(pair.Value)) {
		return "", false
	}
	return head + ":" + tail, true
}

// plainText is the text of a plain value as it was written, glued together if it was split.
func plainText(n ast.Node) (string, bool) {
	switch n.(type) {
	case *ast.StringNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return n.GetToken().Value, !isQuoted(n)
	}
	return gluedText(n)
}

// firstToken is where a value begins; of a split one that is its key, not its colon.
func firstToken(n ast.Node) *token.Token {
	if m, ok := n.(*ast.MappingNode); ok && len(m.Values) > 0 {
		return firstToken(m.Values[0].Key)
	}
	return n.GetToken()
}

// follows reports whether next begins right where the text of n ends.
func follows(n ast.Node, text string, next *token.Token) bool {
	at := n.GetToken().Position
	return at.Line == next.Position.Line && at.Column+utf8.RuneCountInString(text) == next.Position.Column
}

// isValue reports whether w is one value, and not a list, a mapping or nothing.
func (w written) isValue() bool {
	return w.kind != nullValue && w.kind != listValue && w.kind != mappingValue
}

// describe says for a message what was found.
func (w written) describe() string {
	switch w.kind {
	case nullValue:
		return "nothing"
	case listValue:
		return "a list"
	case mappingValue:
		return "a mapping"
	case integerValue, floatValue:
		return "the number " + w.text
	case boolValue, otherValue:
		return w.text
	case variableValue:
		return show(w.text)
	default:
		return "text " + show(w.text)
	}
}

// describeSecret is describe without the value.
func (w written) describeSecret() string {
	if w.isValue() {
		return "something else"
	}
	return w.describe()
}

// The numbers of the YAML 1.2 core schema in plain decimal. Hexadecimal, octal, leading zeros and
// underscores are refused, since readers and tools disagree about them.
var (
	decimalPattern = regexp.MustCompile(`^[-+]?(0|[1-9][0-9]*)$`)
	floatPattern   = regexp.MustCompile(`^[-+]?(0|[1-9][0-9]*)(\.[0-9]*)?([eE][-+]?[0-9]+)?$`)
)

func isDecimal(text string) bool { return decimalPattern.MatchString(text) }

// parseFloat reads a finite decimal number.
func parseFloat(text string) (float64, bool) {
	if !floatPattern.MatchString(text) {
		return 0, false
	}
	f, err := strconv.ParseFloat(text, 64)
	return f, err == nil && !math.IsInf(f, 0)
}
