package classify

import (
	"errors"
	"slices"
	"time"
)

// classed is an error with a mark.
type classed struct {
	error
	class Class
	after time.Duration // of RetryAfter, if the program named it
}

func (c *classed) Unwrap() error { return c.error }

// WithClass marks err with a class that overrides the table's; code and message stay. The outermost mark counts. A nil
// error stays nil.
func WithClass(class Class, err error) error {
	if err == nil {
		return nil
	}
	return &classed{error: err, class: class}
}

// WithRetryAfter marks err to be retried after d and not earlier. Unlike a delay that another side names, no limit cuts
// it. A d of 0 or less names no time. The outermost mark counts. A nil error stays nil.
func WithRetryAfter(d time.Duration, err error) error {
	if err == nil {
		return nil
	}
	return &classed{error: err, class: RetryAfter, after: max(d, 0)}
}

// codedError is an error with its code.
type codedError struct {
	error
	code  Code
	stage Stage
}

func (c *codedError) Unwrap() error { return c.error }

// FailureCode implements [Coded].
func (c *codedError) FailureCode() Code { return c.code }

// FailureStage implements [Coded].
func (c *codedError) FailureStage() Stage { return c.stage }

// WithCode gives err a code, and the stage in which it occurred; an empty stage leaves that to the caller. The message
// stays. The outermost code counts. A nil error stays nil.
func WithCode(code Code, stage Stage, err error) error {
	if err == nil {
		return nil
	}
	return &codedError{error: err, code: code, stage: stage}
}

// applyMark changes the class and the delay by the outermost mark of the failure's error.
func applyMark(f *Failure) {
	var marked *classed
	if !errors.As(f.Err, &marked) || !slices.Contains(Classes(), marked.class) {
		return
	}
	f.Class = marked.class
	if marked.after > 0 {
		f.RetryAfter, f.Firm = marked.after, true
	}
}
