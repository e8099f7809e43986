package repair

import (
	"errors"

	"github.com/switchback-geo/switchback/pkg/geometry/coverage"
	"github.com/switchback-geo/switchback/pkg/geometry/noding"
)

// Reason is why a geometry cannot be made valid. The list is closed.
type Reason string

const (
	// NothingLeft is a geometry of which nothing is left.
	NothingLeft Reason = "nothing_left"
	// TooManyCrossings is one that exceeds [Limits.Crossings].
	TooManyCrossings Reason = "max_crossings"
	// TooManyPositions is one whose result exceeds [Limits.Positions].
	TooManyPositions Reason = "max_output_positions"
	// Contradiction is a result that breaks a guard.
	Contradiction Reason = "contradiction"
)

// Error is the error for a geometry that cannot be made valid. It is permanent.
type Error struct {
	Reason Reason
	Err    error // the cause, or nil
}

// Error returns the reason in words.
func (e *Error) Error() string {
	switch e.Reason {
	case NothingLeft:
		return "nothing is left of it"
	case TooManyCrossings:
		return "its edges meet in more places than limits.max_crossings allows"
	case TooManyPositions:
		return "the result has more positions than limits.max_output_positions allows"
	default:
		return "the result contradicts the area of its parts"
	}
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// explained converts an error of the packages below to one of this package. It returns an error of the context
// unchanged.
func explained(err error) error {
	switch {
	case errors.Is(err, noding.ErrCrossings):
		return &Error{TooManyCrossings, err}
	case errors.Is(err, noding.ErrUnstable), errors.Is(err, coverage.ErrContradiction):
		return &Error{Contradiction, err}
	}
	return err
}
