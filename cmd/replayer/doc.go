// Command replayer shows the dead letters of a Switchback pipeline and replays them into the source topic after a fix,
// each once. docs/replayer.md is its manual.
//
// The command parses flags and prints. internal/replay and internal/dlq decide about dead letters. Data goes to the
// standard output, everything else to the standard error. A command makes changes only with --execute. Text that
// comes from records is cleaned of control characters before it reaches a terminal.
package main
