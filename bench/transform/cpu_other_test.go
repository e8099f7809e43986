//go:build bench && !linux

package transform

import "time"

// Processor time is only measured on Linux. Elsewhere the benchmark reports wall-clock time, and the unit says so.
const cpuUnit = "wall-ns/op"

var begin = time.Now()

func processCPU() time.Duration { return time.Since(begin) }
