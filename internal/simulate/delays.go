package simulate

import (
	"maps"
	"slices"
	"time"
)

// delays counts attempts by how late they began, in whole milliseconds.
type delays map[time.Duration]float64

func (d delays) add(by time.Duration) { d[max(by, 0).Truncate(time.Millisecond)]++ }

// quantile returns the lateness that a share of the attempts does not exceed.
func (d delays) quantile(share float64) time.Duration {
	all, sum := 0.0, 0.0
	for _, amount := range d {
		all += amount
	}
	var at time.Duration
	for _, at = range slices.Sorted(maps.Keys(d)) {
		if sum += d[at]; sum >= share*all {
			break
		}
	}
	return at
}
