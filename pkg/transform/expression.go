package transform

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/vm"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/internal/shorten"
	"github.com/switchback-geo/switchback/pkg/transform/internal/numbers"
)

// The limits of an expression: the nodes of its text, the elements that it creates, the depth and the turns of its
// loops, and the text that it joins. With them it ends soon whatever the record holds.
const (
	maxExpressionNodes = 500
	maxExpressionItems = 100_000
	maxExpressionText  = 64 << 10
	maxExpressionLoops = 2
)

// expression is a compiled expression. It is safe for concurrent use.
type expression struct {
	text    string
	program *vm.Program
	reads   reads
	loops   bool // it has loops
}

// environment holds the names of an expression over a feature.
type environment struct {
	ID         any            `expr:"id"`
	Properties map[string]any `expr:"properties"`
	Geometry   geometryFacts  `expr:"geometry"`
	Steps      *steps         `expr:"[steps]"`
}

// fieldEnvironment also holds the fields that earlier rules wrote. A compiled expression finds a name by its position in
// the struct, so an expression must run with the type with which it was compiled.
type fieldEnvironment struct {
	environment
	Target map[string]any `expr:"target"`
}

// geometryFacts is what an expression can read of the geometry.
type geometryFacts struct {
	Type      string    `expr:"type"`      // "" for a null geometry
	Positions int       `expr:"positions"` // their number
	BBox      []float64 `expr:"bbox"`      // west, south, east, north; empty without a position
}

// compileExpression compiles text. boolean requires a result of true or false; withTarget allows it to read target.
func compileExpression(text string, boolean, withTarget bool) (*expression, error) {
	if withTarget {
		return compileIn(fieldEnvironment{}, text, boolean)
	}
	return compileIn(environment{}, text, boolean)
}

// compileIn compiles text that reads the names of an environment.
func compileIn(env any, text string, boolean bool, more ...expr.Option) (*expression, error) {
	e := &expression{text: text}
	options := append(functions(), expr.Env(env), expr.MaxNodes(maxExpressionNodes), expr.Patch(&e.reads), expr.Patch(exact{}), expr.Patch(counted{}))
	options = append(more, options...)
	if boolean {
		options = append(options, expr.AsBool())
	}
	program, err := expr.Compile(text, options...)
	if err != nil {
		return nil, plainError(err)
	}
	if err := e.reads.fault(program.Node()); err != nil {
		return nil, err
	}
	e.program, e.loops = program, loopDepth(program.Node()) > 0
	return e, nil
}

// plainError converts an error of the library to one line, with its place in the expression and without Go type names.
func plainError(err error) error {
	if at, ok := errors.AsType[*file.Error](err); ok {
		message := at.Message
		for _, operand := range []any{bigWhole{}, geometryFacts{}} {
			message = strings.ReplaceAll(message, fmt.Sprintf("%T", operand), typeName(operand))
		}
		return fmt.Errorf("%s (line %d, character %d of the expression)", message, at.Line, at.Column+1)
	}
	return err
}

// eval runs an expression that was compiled without the target.
func (e *expression) eval(f *Feature) (Value, error) { return e.run(e.environmentOf(f)) }

// evalField runs an expression that was compiled with the target.
func (e *expression) evalField(f *Feature, target []Member) (Value, error) {
	env := fieldEnvironment{environment: e.environmentOf(f)}
	if e.reads.target {
		env.Target = plainMembers(target)
	}
	return e.run(env)
}

// environmentOf converts what the expression reads of a feature.
func (e *expression) environmentOf(f *Feature) environment {
	env := environment{Properties: map[string]any{}, Steps: e.stepsOf(f)}
	if e.reads.id {
		env.ID = plainValue(f.ID)
	}
	for i := range f.Properties {
		if e.reads.allProperties || e.reads.properties[f.Properties[i].Name] {
			env.Properties[f.Properties[i].Name] = plainValue(f.Properties[i].Value)
		}
	}
	if e.reads.geometry {
		env.Geometry = factsOf(f.Geometry)
	}
	return env
}

// run runs the expression in an environment.
func (e *expression) run(env any) (Value, error) {
	machine := vm.VM{MemoryBudget: maxExpressionItems}
	out, err := machine.Run(e.program, env)
	if err != nil {
		return Value{}, plainError(err)
	}
	left := maxExpressionItems
	return resultValue(out, &left)
}

// evalError returns the error for an expression without a result. It has no stage and no rule yet.
func evalError(err error) *Error {
	return &Error{Code: classify.CodeExpressionFailed, Message: "the expression has no result: " + shorten.Text(err.Error()),
		Fix: "test for what may be missing (x ?? 0, a?.b), or set on_error"}
}

// plainValue converts a value to what an expression computes with: int, float64, string, bool, nil, []any,
// map[string]any, and [bigWhole] for a whole number beyond 64 bits. Any other number becomes a double.
func plainValue(v Value) any {
	switch v.Kind() {
	case KindBoolean:
		return v.Bool()
	case KindNumber:
		if i, ok := numbers.Integer(v.text); ok {
			return int(i)
		}
		if whole, ok := asBigWhole(v.text); ok {
			return whole
		}
		return numbers.Double(v.text)
	case KindString:
		return v.text
	case KindArray:
		items := make([]any, len(v.container.items))
		for i, item := range v.container.items {
			items[i] = plainValue(item)
		}
		return items
	case KindObject:
		return plainMembers(v.container.members)
	default: // decided below
	}
	return nil
}

func plainMembers(members []Member) map[string]any {
	plain := make(map[string]any, len(members))
	for i := range members {
		plain[members[i].Name] = plainValue(members[i].Value)
	}
	return plain
}

func factsOf(g Geometry) geometryFacts {
	facts := geometryFacts{Type: string(g.Type()), Positions: g.Positions()}
	if low, high, found := bounds(g.Shape); found {
		facts.BBox = []float64{low[0], low[1], high[0], high[1]}
	}
	return facts
}

// resultValue converts the result of an expression to a value of at most left elements.
func resultValue(v any, left *int) (Value, error) {
	if *left--; *left < 0 {
		return Value{}, errors.New("the result is too large")
	}
	switch v := v.(type) {
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return Value{}, errors.New("the result is not a finite number")
		}
		return NumberValue(v), nil
	case []any:
		return resultList(v, left)
	case []string:
		return resultList(v, left)
	case []int:
		return resultList(v, left)
	case []float64:
		return resultList(v, left)
	case geometryFacts:
		return Value{}, errors.New("the geometry is no result; name a member of it")
	case map[string]any:
		members := make([]Member, 0, len(v))
		for _, name := range sortedKeys(v) {
			value, err := resultValue(v[name], left)
			if err != nil {
				return Value{}, err
			}
			members = append(members, Member{name, value})
		}
		return ObjectValue(members...), nil
	default:
		return ValueOf(v)
	}
}

func resultList[T any](list []T, left *int) (Value, error) {
	items := make([]Value, len(list))
	for i, element := range list {
		item, err := resultValue(element, left)
		if err != nil {
			return Value{}, err
		}
		items[i] = item
	}
	return ArrayValue(items...), nil
}

// reads is what an expression reads of a feature, so that only that is converted, and the first thing in it that is not
// allowed.
type reads struct {
	id, geometry, target, allProperties bool
	properties                          map[string]bool
	members                             map[ast.Node]bool // identifiers whose member was recorded
	refused                             error
}

// Visit records one node. The library visits children first.
func (r *reads) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.IdentifierNode:
		r.identifier(n)
	case *ast.MemberNode:
		r.member(n)
	case *ast.BinaryNode:
		_, constant := n.Right.(*ast.StringNode)
		switch {
		case n.Operator == "..":
			r.refuse(n, "ranges are not available")
		case n.Operator == "matches" && !constant:
			r.refuse(n, "the pattern of matches must be written out")
		}
	}
}

func (r *reads) refuse(n ast.Node, message string) {
	if r.refused == nil {
		r.refused = fmt.Errorf("%s (character %d of the expression)", message, n.Location().From+1)
	}
}

func (r *reads) identifier(n *ast.IdentifierNode) {
	switch n.Value {
	case "id":
		r.id = true
	case "geometry":
		r.geometry = true
	case "target":
		r.target = true
	case "$env":
		r.refuse(n, "$env is not available")
	}
}

// member records properties.name.
func (r *reads) member(n *ast.MemberNode) {
	owner, isName := n.Node.(*ast.IdentifierNode)
	name, isConstant := n.Property.(*ast.StringNode)
	if !isName || owner.Value != "properties" || !isConstant {
		return
	}
	if r.properties == nil {
		r.properties, r.members = map[string]bool{}, map[ast.Node]bool{}
	}
	r.properties[name.Value], r.members[owner] = true, true
}

// nothing reports whether the expression does not depend on the feature.
func (r *reads) nothing() bool {
	return !r.id && !r.geometry && !r.target && !r.allProperties && len(r.properties) == 0
}

// fault walks the checked tree again for what needs the whole tree.
func (r *reads) fault(root ast.Node) error {
	if r.refused != nil {
		return r.refused
	}
	r.wholeProperties(root)
	if depth := loopDepth(root); depth > maxExpressionLoops {
		return fmt.Errorf("loops are nested %d deep, more than %d", depth, maxExpressionLoops)
	}
	return nil
}

// wholeProperties finds uses of properties other than by a fixed name. ast.Walk does not visit the map of a filter, which
// the library makes of map(filter(…)).
func (r *reads) wholeProperties(n ast.Node) {
	if name, ok := n.(*ast.IdentifierNode); ok && name.Value == "properties" && !r.members[n] {
		r.allProperties = true
	}
	for _, child := range childrenOf(n) {
		r.wholeProperties(child)
	}
}
