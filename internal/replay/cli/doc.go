// Package cli is the replayer's command line: flags, what is printed, and exit codes.
//
// Data goes to the standard output, everything else to the standard error. A command that
// changes something does so only with --execute. Text that comes from records is cleaned of
// control characters before a terminal sees it.
//
// The package decides nothing about letters: that is the work of internal/replay. It never asks
// questions and reads nothing from the standard input.
package cli
