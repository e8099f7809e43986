package crs

import (
	"errors"
	"fmt"
)

// GridError says why a grid file cannot be used. It is permanent: the file is damaged,
// of another kind, or not the one that its name says.
type GridError struct {
	File    string // path
	Offset  int64  // bytes from the start; -1 when the fault is in no one place
	Problem string
}

// Error says where the fault is.
func (e *GridError) Error() string {
	if e.Offset < 0 {
		return e.File + ": " + e.Problem
	}
	return fmt.Sprintf("%s: byte %d: %s", e.File, e.Offset, e.Problem)
}

// gridFault is a fault of a file whose path the decoder does not know.
type gridFault struct {
	offset  int64
	problem string
}

func (f *gridFault) Error() string { return f.problem }

func faultf(offset int64, format string, a ...any) error {
	return &gridFault{offset, fmt.Sprintf(format, a...)}
}

// inFile adds the path to an error of a decoder.
func inFile(path string, err error) error {
	if fault, ok := errors.AsType[*gridFault](err); ok {
		return &GridError{File: path, Offset: fault.offset, Problem: fault.problem}
	}
	return fmt.Errorf("grid file: %s: %w", path, err)
}
