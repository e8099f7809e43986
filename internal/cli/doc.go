// Package cli has what the command lines of both programs share: groups and examples of their help, hints for
// misspelled flags, flags of printed commands, the ways to name a pipeline file, safe text, tables and screens for
// terminals, JSON output, exit codes, and the build of the binary.
//
// It contains no command of a program, reads no input and decides nothing.
package cli
