//go:build !unix

package consumer

import "time"

// cpuTime is not known here; nothing is then said about energy.
func cpuTime() (time.Duration, bool) { return 0, false }
