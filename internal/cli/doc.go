// Package cli is the kit of both programs: the order of their help and its examples, hints for a flag that is misspelled, where a
// pipeline file may be named, text that is safe for a terminal, a screen that is redrawn, exit codes, and what a binary was built from.
//
// It knows no command and no flag of a program by itself, reads no input and decides nothing.
package cli
