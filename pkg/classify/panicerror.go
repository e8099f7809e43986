package classify

import (
	"fmt"
	"strings"
)

// PanicError is a panic that was recovered where one record is handled (S4-15). It does not unwrap: a panic with an
// error is still a panic.
type PanicError struct {
	Value any    // the argument of panic
	Stack []byte // as debug.Stack returns it, for the log; never part of the message
}

// Error returns the value, cut to 200 bytes, without the stack.
func (e *PanicError) Error() string {
	return "panic: " + cut(strings.ToValidUTF8(fmt.Sprint(e.Value), "\uFFFD"), 200)
}
