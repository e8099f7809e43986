package expression

import (
	"errors"
	"fmt"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/vm"
)

// The limits of an expression. They ensure that it ends soon, whatever the record contains.
const (
	// MaxItems bounds the elements that an expression creates.
	MaxItems = 100_000

	maxNodes = 500      // of its text
	maxText  = 64 << 10 // that it joins, in bytes
	maxLoops = 2        // inside each other
)

// Program is a compiled expression over the names N: [Feature], [Field] or [Record]. It is safe for concurrent use.
type Program[N any] struct {
	Text  string
	Reads Reads

	program *vm.Program
}

// Feature has the names of an expression over a feature.
type Feature struct {
	ID         any            `expr:"id"`
	Properties map[string]any `expr:"properties"`
	Geometry   Geometry       `expr:"geometry"`
	Steps      *Steps         `expr:"[steps]"`
}

// Field has, in addition, the fields that earlier rules wrote.
type Field struct {
	Feature `expr:"-"`     // its members are names; it is none itself
	Target  map[string]any `expr:"target"`
}

// Geometry has the members of the geometry that an expression can read.
type Geometry struct {
	Type      string    `expr:"type"`      // "" for a null geometry
	Positions int       `expr:"positions"` // their number
	BBox      []float64 `expr:"bbox"`      // west, south, east, north; empty without a position
}

// Compile compiles text. The error is one line and names the place of the fault in the text.
func Compile[N any](text string) (*Program[N], error) { return compile[N](text) }

// CompileCondition compiles text like [Compile]. Its result must be true or false.
func CompileCondition[N any](text string) (*Program[N], error) {
	return compile[N](text, expr.AsBool())
}

func compile[N any](text string, more ...expr.Option) (*Program[N], error) {
	e := &Program[N]{Text: text}
	var names N
	options := append(functions(), expr.Env(names), expr.MaxNodes(maxNodes), expr.Patch(&e.Reads), expr.Patch(exact{}), expr.Patch(counted{}))
	options = append(more, options...)
	program, err := expr.Compile(text, options...)
	if err != nil {
		return nil, plainError(err)
	}
	if err := e.Reads.check(program.Node()); err != nil {
		return nil, err
	}
	e.program = program
	return e, nil
}

// plainError converts an error of the library to one line, with its place in the expression and without Go type names.
func plainError(err error) error {
	if at, ok := errors.AsType[*file.Error](err); ok {
		message := at.Message
		for _, operand := range []any{Whole{}, Geometry{}} {
			message = strings.ReplaceAll(message, fmt.Sprintf("%T", operand), typeName(operand))
		}
		return fmt.Errorf("%s (line %d, character %d of the expression)", message, at.Line, at.Column+1)
	}
	return err
}

// Run runs the expression. The error is one line.
func (e *Program[N]) Run(names N) (any, error) {
	machine := vm.VM{MemoryBudget: MaxItems}
	out, err := machine.Run(e.program, names)
	if err != nil {
		return nil, plainError(err)
	}
	return out, nil
}
