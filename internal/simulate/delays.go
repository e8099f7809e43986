package simulate

import (
	"iter"
	"maps"
	"slices"
	"time"
)

// delays counts attempts by how late they began, in whole units.
type delays struct {
	unit time.Duration
	near []float64         // up to nearUnits
	far  map[int64]float64 // beyond
}

// nearUnits is up to how many units late amounts are kept in a list, which is faster than a map.
const nearUnits = 1 << 20

func newDelays(unit time.Duration) delays { return delays{unit: unit, far: map[int64]float64{}} }

func (d *delays) add(amount float64, by time.Duration) {
	n := int64(max(by, 0) / d.unit)
	if n >= nearUnits {
		d.far[n] += amount
		return
	}
	if missing := int(n) + 1 - len(d.near); missing > 0 {
		d.near = append(d.near, make([]float64, missing)...)
	}
	d.near[n] += amount
}

// all gives what was counted, in order.
func (d *delays) all() iter.Seq2[int64, float64] {
	return func(yield func(n int64, amount float64) bool) {
		for n, amount := range d.near {
			if amount > 0 && !yield(int64(n), amount) {
				return
			}
		}
		for _, n := range slices.Sorted(maps.Keys(d.far)) {
			if !yield(n, d.far[n]) {
				return
			}
		}
	}
}

// quantile gives the lateness that a share of the attempts does not exceed.
func (d *delays) quantile(share float64) time.Duration {
	all, sum, at := 0.0, 0.0, int64(0)
	for _, amount := range d.all() {
		all += amount
	}
	for n, amount := range d.all() {
		at, sum = n, sum+amount
		if sum >= share*all {
			break
		}
	}
	return time.Duration(at) * d.unit
}
