// Command replayer looks at the dead letters of a Switchback pipeline and puts them back into the source topic after a fix, each
// once. docs/replayer.md is its manual.
//
// It parses flags and prints; what is decided about dead letters is decided by internal/replay and internal/dlq. Data goes to the
// standard output, everything else to the standard error. A command that changes something does so only with --execute. Text that
// comes from records is cleaned of control characters before a terminal sees it.
package main
