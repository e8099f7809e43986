package expression

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/switchback-geo/switchback/pkg/transform/internal/numbers"
)

// libraryFunctions lists the functions of the library that expressions may call. It excludes those that read a clock or
// files, those whose result may be much larger than their arguments, and those that [exactFunctions] replaces.
func libraryFunctions() []string {
	return []string{
		"all", "any", "count", "filter", "find", "first", "get", "hasPrefix", "hasSuffix",
		"last", "len", "lower", "map", "max", "min", "none", "one", "split",
		"sum", "trim", "trimPrefix", "trimSuffix", "upper",
	}
}

// functions returns the options that define the functions of an expression.
func functions() []expr.Option {
	options := []expr.Option{expr.DisableAllBuiltins()}
	for _, name := range libraryFunctions() {
		options = append(options, expr.EnableBuiltin(name))
	}
	options = append(options, exactFunctions()...)
	return append(options, stepOption(),
		expr.Function("string", toText, new(func(any) string)),
		expr.Function("join", join, new(func([]any, string) string), new(func([]string, string) string)),
		expr.Function("replace", replace, new(func(string, string, string) string)),
	)
}

// toText returns the text of a scalar.
func toText(operands ...any) (any, error) {
	switch v := operands[0].(type) {
	case nil:
		return "", nil
	case bool:
		return strconv.FormatBool(v), nil
	case string:
		return strings.ToValidUTF8(v, "\uFFFD"), nil
	case int:
		return strconv.Itoa(v), nil
	case Whole:
		return v.digits, nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("%v is not a finite number", v)
		}
		return string(numbers.AppendFloat(nil, v)), nil
	case []any, []string, []int, []float64:
		return nil, errors.New("an array has no text; use join or a member of it")
	case map[string]any:
		return nil, errors.New("an object has no text; use join or a member of it")
	}
	return nil, fmt.Errorf("%s has no text", typeName(operands[0]))
}

// join joins texts by a separator.
func join(operands ...any) (any, error) {
	separator := operands[1].(string)
	var parts []string
	switch list := operands[0].(type) {
	case []string:
		parts = list
	case []any:
		for _, element := range list {
			part, err := toText(element)
			if err != nil {
				return nil, err
			}
			parts = append(parts, part.(string))
		}
	}
	size := 0
	for _, part := range parts {
		if size += len(part) + len(separator); size > maxText {
			return nil, errTextTooLong
		}
	}
	return strings.Join(parts, separator), nil
}

// replace replaces every occurrence of one text in another.
func replace(operands ...any) (any, error) {
	text, old, with := operands[0].(string), operands[1].(string), operands[2].(string)
	if size := len(text) + strings.Count(text, old)*max(0, len(with)-len(old)); size > maxText && size > len(text) {
		return nil, errTextTooLong
	}
	return strings.ReplaceAll(text, old, with), nil
}

// loopDepth returns how deep the loops of an expression are nested.
func loopDepth(node ast.Node) int {
	deepest := 0
	for _, child := range childrenOf(node) {
		deepest = max(deepest, loopDepth(child))
	}
	if _, isLoop := node.(*ast.PredicateNode); isLoop {
		deepest++
	}
	return deepest
}

// childrenOf lists the nodes right below one.
func childrenOf(node ast.Node) []ast.Node {
	switch n := node.(type) {
	case *ast.UnaryNode:
		return []ast.Node{n.Node}
	case *ast.BinaryNode:
		return []ast.Node{n.Left, n.Right}
	case *ast.ChainNode:
		return []ast.Node{n.Node}
	case *ast.MemberNode:
		return []ast.Node{n.Node, n.Property}
	case *ast.SliceNode:
		return present(n.Node, n.From, n.To)
	case *ast.CallNode:
		return append([]ast.Node{n.Callee}, n.Arguments...)
	case *ast.BuiltinNode:
		return append(present(n.Map), n.Arguments...)
	case *ast.PredicateNode:
		return []ast.Node{n.Node}
	case *ast.ConditionalNode:
		return []ast.Node{n.Cond, n.Exp1, n.Exp2}
	case *ast.VariableDeclaratorNode:
		return []ast.Node{n.Value, n.Expr}
	case *ast.SequenceNode:
		return n.Nodes
	case *ast.ArrayNode:
		return n.Nodes
	case *ast.MapNode:
		return n.Pairs
	case *ast.PairNode:
		return []ast.Node{n.Key, n.Value}
	}
	return nil
}

// present returns the nodes that are not nil.
func present(nodes ...ast.Node) []ast.Node {
	var out []ast.Node
	for _, n := range nodes {
		if n != nil {
			out = append(out, n)
		}
	}
	return out
}
