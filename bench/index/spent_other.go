//go:build !linux

package main

import "time"

// spent is only known on Linux.
func spent() (cpu time.Duration, peakMiB int64) { return 0, 0 }
