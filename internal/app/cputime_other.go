//go:build !unix

package app

import "time"

// cpuTime is not known here; nothing is then said about energy.
func cpuTime() (time.Duration, bool) { return 0, false }
