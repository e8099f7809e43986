package config

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// MaxFileBytes limits the size of the file, because the YAML parser's time grows with the square of the length.
const MaxFileBytes = 64 << 10

// maxBrackets limits the number of brackets that are open at once. It is larger than maxDepth.
const maxBrackets = 200

// maxKeys limits the number of keys in a file, because the parser copies a mapping for each of its keys. A file of 64
// KiB has some thousands of keys.
const maxKeys = 10_000

// reporter receives each fault of the text itself, with the fix.
type reporter = func(line, column int, message, fix string)

// readDocument parses text as a single YAML document. If the text itself has a fault, readDocument calls report and
// returns nil.
func readDocument(text []byte, report reporter) ast.Node {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if len(text) > MaxFileBytes {
		report(1, 1, fmt.Sprintf("the file has %d bytes", len(text)), fmt.Sprintf("keep it within %d", MaxFileBytes))
		return nil
	}
	if line, column, message, fix := scan(text); message != "" {
		report(line, column, message, fix)
		return nil
	}
	file, err := parse(text)
	if err != nil {
		reportSyntax(err, report)
		return nil
	}
	body := onlyDocument(file, report)
	if line, column, lost := lostTab(body); lost {
		report(line, column, "a tab inside a text without quotes", `write a space, or \t in double quotes; nothing was read`)
		return nil
	}
	return body
}

// parse turns a panic of the parser into an error, so that no text can crash the process.
func parse(text []byte) (file *ast.File, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the YAML parser cannot read this text (%v)", r)
		}
	}()
	// The parser accepts duplicate keys, so that the decoder can report all of them at once.
	return parser.ParseBytes(text, 0, parser.AllowDuplicateMapKey())
}

func reportSyntax(err error, report reporter) {
	const fix = "fix the YAML here; nothing below it was read"
	var syntax yaml.Error
	if !errors.As(err, &syntax) {
		report(1, 1, err.Error(), "write it as plain YAML")
		return
	}
	line, column := 1, 1
	if token := syntax.GetToken(); token != nil && token.Position != nil {
		line, column = token.Position.Line, token.Position.Column
	}
	if strings.Contains(syntax.GetMessage(), "'\t'") {
		report(line, column, "not YAML: a tab in the indentation", "indent with spaces; nothing below it was read")
		return
	}
	report(line, column, "not YAML: "+syntax.GetMessage(), fix)
}

// onlyDocument returns the body of the only document. It returns nil for an empty file, without a report.
func onlyDocument(file *ast.File, report reporter) ast.Node {
	var body ast.Node
	for _, doc := range file.Docs {
		switch {
		case doc.Body == nil || doc.Body.Type() == ast.CommentType || doc.Body.Type() == ast.DirectiveType:
			continue
		case body != nil:
			line, column := start(doc.Body)
			report(line, column, "a second document", "keep one pipeline per file")
			return body
		}
		body = doc.Body
	}
	return body
}

// scan finds text that the YAML parser must not receive. This is a character that YAML forbids, or too many open
// brackets, keys or lists that begin on one line. The parser's time grows with the square of their number. scan also
// counts those inside quoted text. This is harmless, because such text has few of them or closes its brackets.
func scan(text []byte) (line, column int, message, fix string) {
	line, column = 1, 1
	open, begun, keys := 0, 0, 0
	for i, r := range string(text) {
		switch r {
		case '-':
			begun++
		case '[', '{':
			open++
		case ']', '}':
			open = max(open-1, 0)
		case ':', '?':
			if i+1 == len(text) || strings.IndexByte(" \t\r\n,[]{}", text[i+1]) >= 0 {
				keys++
			}
		}
		bad := r == utf8.RuneError && !bytes.HasPrefix(text[i:], []byte("\ufffd"))
		switch {
		case bad || unicode.IsControl(r) && !strings.ContainsRune("\n\r\t\u0085", r):
			return line, column, "a character that YAML does not allow (not UTF-8, or a control character)", "save the file as UTF-8 text"
		case open > maxBrackets || begun > maxBrackets:
			return line, column, fmt.Sprintf("more than %d brackets are open, or hyphens in one line", maxBrackets), "close what is open, or nest it less deeply"
		case r == '\n':
			line, column, begun = line+1, 0, 0
		}
		column++
	}
	if keys > maxKeys {
		return 1, 1, fmt.Sprintf("the file has about %d keys", keys), fmt.Sprintf("keep it within %d", maxKeys)
	}
	return 0, 0, "", ""
}

// start returns the position where a node begins. The token of a mapping is its first colon, so start uses its first
// key.
func start(n ast.Node) (line, column int) {
	switch m := n.(type) {
	case *ast.MappingNode:
		if !m.IsFlowStyle && len(m.Values) > 0 {
			return start(m.Values[0].Key)
		}
	case *ast.MappingValueNode:
		return start(m.Key)
	}
	if token := n.GetToken(); token != nil && token.Position != nil {
		return token.Position.Line, token.Position.Column
	}
	return 1, 1
}

// lostTab finds the first plain key or value that contains a tab that the parser dropped. The parser reads "a<tab>b" as
// "ab", but YAML keeps the tab. Quoted and block text keeps its tabs.
func lostTab(body ast.Node) (line, column int, found bool) {
	if body == nil {
		return 0, 0, false
	}
	for _, n := range ast.Filter(ast.StringType, body) {
		s, ok := n.(*ast.StringNode)
		if ok && s.Token.Type == token.StringType && strings.Contains(strings.TrimSpace(s.Token.Origin), "\t") && !strings.Contains(s.Value, "\t") {
			return s.Token.Position.Line, s.Token.Position.Column, true
		}
	}
	return 0, 0, false
}
