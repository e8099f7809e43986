//go:build !unix

package consumer

import "time"

// cpuTime is unknown on this system, so no energy is reported.
func cpuTime() (time.Duration, bool) { return 0, false }
