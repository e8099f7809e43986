package classify

import "errors"

// is reports whether err wraps an error of type T.
func is[T error](err error) bool {
	var target T
	return errors.As(err, &target)
}

func (c *Classifier) codeOfCoded(err error) Code {
	if coded, ok := errors.AsType[Coded](err); ok {
		if _, known := c.entries[coded.FailureCode()]; known {
			return coded.FailureCode()
		}
	}
	return CodeUnknown
}

func codeOfStatus(err error) Code {
	if answer, ok := errors.AsType[*HTTPError](err); ok {
		return statusCode(answer.Status)
	}
	return CodeUnknown
}

// timedOut reports whether err or any error that it wraps calls itself a timeout, as a net.Error does. errors.As
// would ask the outermost one only, and a url.Error around a wrapped timeout denies it.
//
//nolint:errorlint // this walks the chain itself
func timedOut(err error) bool {
	if t, ok := err.(interface{ Timeout() bool }); ok && t.Timeout() {
		return true
	}
	switch wrapper := err.(type) {
	case interface{ Unwrap() error }:
		inner := wrapper.Unwrap()
		return inner != nil && timedOut(inner)
	case interface{ Unwrap() []error }:
		for _, inner := range wrapper.Unwrap() {
			if inner != nil && timedOut(inner) {
				return true
			}
		}
	}
	return false
}
