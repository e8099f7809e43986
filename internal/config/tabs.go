package config

import (
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// lostTab finds the first plain text, a key or a value, that has a tab inside and was read without it: "a<tab>b" as "ab", where YAML
// keeps it. What is in quotes or in a block text keeps its tabs.
func lostTab(body ast.Node) (line, column int, found bool) {
	if body != nil {
		ast.Walk(tabFinder(func(t *token.Token) {
			if !found && t.Position != nil {
				line, column, found = t.Position.Line, t.Position.Column, true
			}
		}), body)
	}
	return line, column, found
}

// tabFinder is told the token of each such text.
type tabFinder func(*token.Token)

// Visit looks at one node.
func (f tabFinder) Visit(n ast.Node) ast.Visitor {
	if s, ok := n.(*ast.StringNode); ok && s.Token.Type == token.StringType &&
		strings.Contains(strings.TrimSpace(s.Token.Origin), "\t") && !strings.Contains(s.Value, "\t") {
		f(s.Token)
	}
	return f
}
