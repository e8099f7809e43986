package expression

import (
	"errors"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
)

// The library bounds what an expression creates, not how long it runs: a nested loop over a list takes the square of its
// length, and no context ends it. Therefore each turn of a loop is counted.

const (
	// maxSteps bounds the turns of all loops of one evaluation: at most about a second of work.
	maxSteps = 2_000_000

	// stepText is the number of bytes of text that count as one step, because the work of a turn may be proportional to
	// the longest text that the expression reads.
	stepText = 64
)

// stepFunction wraps the body of a loop; stepsName is the counter. Neither can be written in an expression.
const (
	stepFunction = "[step]"
	stepsName    = "[steps]"
)

var errTooManySteps = errors.New("its loops need more than 2 million steps on this record; send shorter lists, or do not nest loops")

// Steps is the remaining budget of an evaluation.
type Steps struct{ left, each int }

// counted adds the counter to each loop.
type counted struct{}

// Visit changes one node.
func (counted) Visit(node *ast.Node) {
	if loop, isLoop := (*node).(*ast.PredicateNode); isLoop {
		if turn, done := loop.Node.(*ast.CallNode); done {
			if name, named := turn.Callee.(*ast.IdentifierNode); named && name.Value == stepFunction {
				return
			}
		}
		loop.Node = callOf(stepFunction, &ast.IdentifierNode{Value: stepsName}, loop.Node)
	}
}

func stepOption() expr.Option {
	return expr.Function(stepFunction, func(operands ...any) (any, error) {
		count := operands[0].(*Steps)
		if count.left -= count.each; count.left < 0 {
			return nil, errTooManySteps
		}
		return operands[1], nil
	})
}

// NewSteps returns the budget of one evaluation. longest is the length of the longest text that the expression reads.
func NewSteps(longest int) *Steps { return &Steps{left: maxSteps, each: 1 + longest/stepText} }
