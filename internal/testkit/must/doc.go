// Package must ends a test at the first step that fails, so that each step of a set-up takes one line.
//
// It is for the steps before the subject of a test. A test of an error checks the error itself.
package must
