package main

import (
	"os"
	"runtime/debug"
)

// What the garbage collector keeps to where it can, and how much garbage there may be for what lives, in percent.
const (
	memoryLimit = 256 << 20 // a plan of a million letters fits into it
	garbage     = 50        // SQLite's memory, which comes on top, has room then

	replayLimit   = 512 << 20 // the states of a million letters, and room not to collect all the time
	replayGarbage = 100
)

// boundMemory bounds the memory of the process, unless the environment does.
func boundMemory(limit int64, percent int) {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(limit)
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}
