package crs

import (
	"errors"
	"fmt"
)

// GridError is returned for a grid file that cannot be used. It is permanent: the file is damaged, of another format, or
// not the grid of its name.
type GridError struct {
	File    string // path
	Offset  int64  // bytes from the start; -1 if the fault has no single place
	Problem string
}

// Error states where the fault is.
func (e *GridError) Error() string {
	if e.Offset < 0 {
		return e.File + ": " + e.Problem
	}
	return fmt.Sprintf("%s: byte %d: %s", e.File, e.Offset, e.Problem)
}

// gridFault is a fault in a file. The decoder does not know the path of the file.
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
