//go:build bench && !linux

package transform

import "time"

// Processor time per thread is Linux's; elsewhere the clock on the wall has to
// do, and the unit says so.
const cpuUnit = "wall-ns/op"

var begin = time.Now()

func processCPU() time.Duration { return time.Since(begin) }
