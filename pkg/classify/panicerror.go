package classify

import (
	"fmt"
	"strings"
)

// PanicError is a panic that was caught where one record is handled (S4-15). It does not unwrap: a panic with an error
// is still a panic, whatever that error would have meant.
type PanicError struct {
	Value any    // what was given to panic
	Stack []byte // as debug.Stack gives it, for the log; never part of the message
}

// Error gives the value, cut to 200 bytes, without the stack.
func (e *PanicError) Error() string {
	return "panic: " + cut(strings.ToValidUTF8(fmt.Sprint(e.Value), "\uFFFD"), 200)
}
