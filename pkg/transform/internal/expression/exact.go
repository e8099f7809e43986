package expression

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/bits"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/vm/runtime"
	"github.com/switchback-geo/switchback/pkg/internal/shorten"
)

// The library computes with machine integers that overflow silently, cuts texts between bytes although it counts
// characters, and lists a map in a random order. Here an overflow is an error, texts are cut between characters, and
// maps have one order: a result follows the rules of arithmetic, and is the same each time.

// The function names that replace operators. None can be written in an expression.
const (
	addFunction      = "+"
	subtractFunction = "-"
	multiplyFunction = "*"
	sliceFunction    = "[:]"
	sumFunction      = "sum"
)

// exactFunctions returns the options for the functions that replace operators and for those that replace the library's
// own.
func exactFunctions() []expr.Option {
	return append(wholeFunctions(),
		expr.Function(addFunction, add),
		expr.Function(subtractFunction, subtract),
		expr.Function(multiplyFunction, multiply),
		expr.Function(sliceFunction, slice),
		expr.Function(sumFunction+"()", sum),
		roundBy("ceil", math.Ceil), roundBy("floor", math.Floor), roundBy("round", math.Round),
		expr.Function("abs", magnitudeOf, new(func(any) any)),
		expr.Function("int", toInt, new(func(any) int)),
		expr.Function("indexOf", indexOf, new(func(string, string) int)),
		expr.Function("lastIndexOf", lastIndexOf, new(func(string, string) int)),
		expr.Function("keys", mapKeys, new(func(map[string]any) []any)),
		expr.Function("values", mapValues, new(func(map[string]any) []any)),
	)
}

// exact replaces operators by functions. The function for + also bounds the text that it creates, because the library's
// memory budget does not count texts.
type exact struct{}

// Visit replaces one node.
func (exact) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.BinaryNode:
		if name := n.Operator; (name == equalFunction || name == notEqualFunction) && comparesNumbers(n.Left, n.Right) {
			ast.Patch(node, callOf(name, n.Left, n.Right))
			return
		}
		if name := n.Operator; (name == addFunction || name == subtractFunction || name == multiplyFunction) && !(isNumeric(n.Left) && isNumeric(n.Right)) {
			ast.Patch(node, callOf(name, n.Left, n.Right))
		}
		if n.Operator == inFunction && !isConstants(n.Right) {
			ast.Patch(node, callOf(inFunction, n.Left, n.Right))
		}
	case *ast.BuiltinNode:
		if n.Name == sumFunction {
			list := n.Arguments[0]
			if len(n.Arguments) > 1 {
				list = &ast.BuiltinNode{Name: "map", Arguments: n.Arguments}
			}
			ast.Patch(node, callOf(sumFunction+"()", list))
		}
	case *ast.UnaryNode:
		if n.Operator == subtractFunction && !isNumeric(n.Node) {
			ast.Patch(node, callOf(subtractFunction, &ast.IntegerNode{}, n.Node))
		}
	case *ast.SliceNode:
		from, to := n.From, n.To
		if from == nil {
			from = &ast.IntegerNode{}
		}
		if to == nil {
			to = &ast.NilNode{}
		}
		ast.Patch(node, callOf(sliceFunction, n.Node, from, to))
	}
}

func callOf(name string, arguments ...ast.Node) ast.Node {
	return &ast.CallNode{Callee: &ast.IdentifierNode{Value: name}, Arguments: arguments}
}

// isNumeric reports whether a node is a literal number.
func isNumeric(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.IntegerNode, *ast.FloatNode:
		return true
	case *ast.UnaryNode:
		return isNumeric(n.Node)
	}
	return false
}

var (
	errTextTooLong = errors.New("the text is longer than 64 KiB")
	errOverflow    = errors.New("the whole number has more than 64 bits; make one of the operands a double with float()")
)

// add adds two numbers or joins two texts.
func add(operands ...any) (any, error) {
	a, b := operands[0], operands[1]
	text, isText := a.(string)
	more, isMore := b.(string)
	if isText && isMore {
		if len(text)+len(more) > maxText {
			return nil, errTextTooLong
		}
		return text + more, nil
	}
	i, j, whole := wholes(a, b)
	sum := i + j
	if whole && (i^sum)&(j^sum) < 0 {
		return nil, errOverflow
	}
	return computed(a, b, "added", runtime.Add)
}

// sum adds the numbers of a list.
func sum(operands ...any) (total any, err error) {
	total = 0
	list := reflect.ValueOf(operands[0])
	if list.Kind() != reflect.Slice {
		return nil, fmt.Errorf("%s is not a list", typeName(operands[0]))
	}
	for i := range list.Len() {
		if total, err = add(list.Index(i).Interface(), total); err != nil {
			return nil, err
		}
	}
	return total, nil
}

// roundBy returns a function that does not change whole numbers, because a double cannot represent all of them.
func roundBy(name string, round func(float64) float64) expr.Option {
	return expr.Function(name, func(operands ...any) (any, error) {
		switch x := operands[0].(type) {
		case int:
			return x, nil
		case float64:
			return round(x), nil
		}
		return nil, fmt.Errorf("%s cannot be rounded", typeName(operands[0]))
	}, new(func(any) any))
}

func magnitudeOf(operands ...any) (any, error) {
	switch x := operands[0].(type) {
	case int:
		if x < 0 {
			return subtract(0, x)
		}
		return x, nil
	case float64:
		return math.Abs(x), nil
	}
	return nil, fmt.Errorf("%s has no absolute value", typeName(operands[0]))
}

func subtract(operands ...any) (any, error) {
	a, b := operands[0], operands[1]
	i, j, whole := wholes(a, b)
	if difference := i - j; whole && (i^j)&(i^difference) < 0 {
		return nil, errOverflow
	}
	return computed(a, b, "subtracted", runtime.Subtract)
}

func multiply(operands ...any) (any, error) {
	a, b := operands[0], operands[1]
	if i, j, whole := wholes(a, b); whole {
		high, low := bits.Mul64(magnitude(i), magnitude(j))
		most := uint64(math.MaxInt64)
		if (i < 0) != (j < 0) {
			most++
		}
		if high != 0 || low > most {
			return nil, errOverflow
		}
	}
	return computed(a, b, "multiplied", runtime.Multiply)
}

// wholes returns two operands that are whole numbers.
func wholes(a, b any) (i, j int, whole bool) {
	i, first := a.(int)
	j, second := b.(int)
	return i, j, first && second
}

func magnitude(i int) uint64 {
	if i < 0 {
		return -uint64(i) //nolint:gosec // the magnitude of the least number, too
	}
	return uint64(i)
}

// computed calls the library, which panics if two types do not match.
func computed[T any](a, b any, done string, with func(a, b any) T) (result any, err error) {
	defer func() {
		if recover() != nil {
			result, err = nil, fmt.Errorf("%s and %s cannot be %s", typeName(a), typeName(b), done)
		}
	}()
	return with(a, b), nil
}

// toInt returns the whole number of a number or a text; it drops the fraction of a double.
func toInt(operands ...any) (any, error) {
	switch x := operands[0].(type) {
	case int:
		return x, nil
	case float64:
		if !(x >= math.MinInt64 && x < -math.MinInt64) {
			return nil, errOverflow
		}
		return int(x), nil
	case string:
		i, err := strconv.Atoi(x)
		if err != nil {
			return nil, fmt.Errorf("%s is not a whole number of 64 bits", strconv.Quote(shorten.Text(x)))
		}
		return i, nil
	}
	if _, isWhole := operands[0].(Whole); isWhole {
		return nil, errOverflow
	}
	return nil, fmt.Errorf("%s is not a number", typeName(operands[0]))
}

// slice cuts a text between characters, and a list between elements. A negative index counts from the end; nil is the
// end.
func slice(operands ...any) (any, error) {
	text, isText := operands[0].(string)
	bounds := [2]int{}
	for i, operand := range operands[1:] {
		at, isInt := operand.(int)
		switch {
		case isInt:
		case i == 1 && operand == nil:
			at = math.MaxInt
		default:
			return nil, fmt.Errorf("a %s cannot be a place to cut at", typeName(operand))
		}
		if bounds[i] = at; isText {
			bounds[i] = byteOf(text, at)
		}
	}
	if isText {
		return text[min(bounds[0], bounds[1]):bounds[1]], nil
	}
	if list, isList := operands[0].([]any); isList {
		bounds[1] = min(bounds[1], len(list))
	}
	return computed(operands[0], bounds, "cut", func(any, any) any { return runtime.Slice(operands[0], bounds[0], bounds[1]) })
}

// byteOf returns where the character with a number begins, or the end of the text.
func byteOf(text string, character int) int {
	if character < 0 {
		if character += utf8.RuneCountInString(text); character <= 0 {
			return 0
		}
	}
	if character >= len(text) {
		return len(text)
	}
	for at := range text {
		if character == 0 {
			return at
		}
		character--
	}
	return len(text)
}

// indexOf and lastIndexOf count characters, as len does.
func indexOf(operands ...any) (any, error) {
	text := operands[0].(string)
	return characters(text, strings.Index(text, operands[1].(string))), nil
}

func lastIndexOf(operands ...any) (any, error) {
	text := operands[0].(string)
	return characters(text, strings.LastIndex(text, operands[1].(string))), nil
}

func characters(text string, at int) int {
	if at < 0 {
		return at
	}
	return utf8.RuneCountInString(text[:at])
}

// mapKeys lists the names of a map, sorted by their bytes; mapValues lists the values in the same order.
func mapKeys(operands ...any) (any, error) {
	names, ok := operands[0].(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s has no keys", typeName(operands[0]))
	}
	out := make([]any, 0, len(names))
	for _, name := range slices.Sorted(maps.Keys(names)) {
		out = append(out, name)
	}
	return out, nil
}

func mapValues(operands ...any) (any, error) {
	names, err := mapKeys(operands...)
	if err != nil {
		return nil, err
	}
	out := slices.Clone(names.([]any))
	for i, name := range out {
		out[i] = operands[0].(map[string]any)[name.(string)]
	}
	return out, nil
}
