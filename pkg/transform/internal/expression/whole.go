package expression

import (
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/builtin"
	"github.com/expr-lang/expr/vm/runtime"
	"github.com/switchback-geo/switchback/pkg/transform/internal/numbers"
)

// Whole is a whole number of a record that does not fit 64 bits, such as an S2 cell ID. An expression may pass it on,
// compare it for equality, and convert it to a text or a double. Every other operator and function refuses it: as a
// double it would equal its neighbours.
type Whole struct{ digits string }

// Digits returns the number as text.
func (w Whole) Digits() string { return w.digits }

// wholeName is what messages call the type.
const wholeName = "a whole number of more than 64 bits"

// AsWhole returns a number that numbers.Integer does not accept, if its text is that of a whole number: digits, and
// after a point only zeros. A text with a point that is exactly a double is the form in which programs write doubles.
func AsWhole(text string) (number Whole, ok bool) {
	digits, decimals, hasPoint := strings.Cut(text, ".")
	if strings.ContainsAny(text, "eE") || strings.Trim(decimals, "0") != "" {
		return Whole{}, false
	}
	number = Whole{digits}
	return number, !hasPoint || !number.is(numbers.Double(digits))
}

// is reports whether the number is exactly a double.
func (w Whole) is(double float64) bool {
	i, ok := new(big.Int).SetString(w.digits, 10)
	return ok && !math.IsInf(double, 0) && new(big.Float).SetInt(i).Cmp(big.NewFloat(double)) == 0
}

// The function names that replace == and !=.
const (
	equalFunction    = "=="
	notEqualFunction = "!="
	inFunction       = "in"
)

func wholeFunctions() []expr.Option {
	return []expr.Option{
		expr.Function(equalFunction, func(operands ...any) (any, error) { return equal(operands[0], operands[1]), nil }, new(func(any, any) bool)),
		expr.Function(notEqualFunction, func(operands ...any) (any, error) { return !equal(operands[0], operands[1]), nil }, new(func(any, any) bool)),
		expr.Function(inFunction, func(operands ...any) (any, error) {
			return computed(operands[0], operands[1], "looked up in each other", contains)
		}, new(func(any, any) bool)),
		expr.Function("float", toFloat, new(func(any) float64)),
		expr.Function("type", typeOfOperand, new(func(any) string)),
	}
}

// equal compares two operands. A whole number beyond 64 bits equals a double of exactly its value.
func equal(a, b any) bool {
	whole, isWhole := a.(Whole)
	double, isDouble := b.(float64)
	if !isWhole || !isDouble {
		whole, isWhole = b.(Whole)
		double, isDouble = a.(float64)
	}
	if isWhole && isDouble {
		return whole.is(double)
	}
	switch x := a.(type) {
	case []any:
		if y, isList := b.([]any); isList {
			return slices.EqualFunc(x, y, equal)
		}
	case map[string]any:
		if y, isMap := b.(map[string]any); isMap {
			return maps.EqualFunc(x, y, equal)
		}
	}
	return runtime.Equal(a, b)
}

// contains reports whether a list contains an operand, or a map a name.
func contains(a, b any) bool {
	if list, isList := b.([]any); isList {
		return slices.ContainsFunc(list, func(element any) bool { return equal(a, element) })
	}
	return runtime.In(a, b)
}

// isConstants reports whether a node is a list of literal texts and numbers. No whole number beyond 64 bits equals one
// of them unless it is written as a double.
func isConstants(n ast.Node) bool {
	list, isList := n.(*ast.ArrayNode)
	return isList && !slices.ContainsFunc(list.Nodes, func(n ast.Node) bool {
		switch n.(type) {
		case *ast.StringNode, *ast.IntegerNode, *ast.BoolNode:
			return false
		}
		return true
	})
}

// toFloat returns the double nearest to a number or a text.
func toFloat(operands ...any) (any, error) {
	if whole, isWhole := operands[0].(Whole); isWhole {
		return numbers.Double(whole.digits), nil
	}
	return computed(operands[0], nil, "made a double", func(a, _ any) any { return builtin.Float(a) })
}

// typeOfOperand names the type of an operand.
func typeOfOperand(operands ...any) (any, error) {
	switch operands[0].(type) {
	case Whole:
		return "int", nil
	case Geometry:
		return typeName(operands[0]), nil
	}
	return builtin.Type(operands[0]), nil
}

// typeName names the type of an operand for a message.
func typeName(operand any) string {
	switch operand.(type) {
	case Whole:
		return wholeName
	case Geometry:
		return "geometry"
	}
	return fmt.Sprintf("%T", operand)
}

// comparesNumbers reports whether a comparison may have a whole number beyond 64 bits on one side and a double on the
// other. A constant that is not a double excludes that.
func comparesNumbers(left, right ast.Node) bool {
	for _, n := range []ast.Node{left, right} {
		switch n.(type) {
		case *ast.StringNode, *ast.BoolNode, *ast.NilNode, *ast.IntegerNode:
			return false
		}
	}
	return true
}
