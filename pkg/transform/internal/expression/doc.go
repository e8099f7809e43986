// Package expression compiles and runs the expressions of a mapping: those of expr-lang/expr, with bounds and exact
// arithmetic.
//
// Expressions have no clock and do no I/O. Their size, the elements that they create, the texts that they join, and the
// depth and turns of their loops are bounded. Whole numbers do not overflow silently, texts are cut between characters,
// and maps have one order.
//
// An expression computes with plain values of Go: int, float64, string, bool, nil, []any, map[string]any, and [Whole]. The
// caller converts its values to them and the result back.
package expression
