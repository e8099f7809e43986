// Command replayer looks at the dead letters of a Switchback pipeline and puts them back into the
// source topic after a fix, each once. docs/replayer.md is its manual.
//
// It only parses flags and signals; the work is done by internal/replay.
package main
