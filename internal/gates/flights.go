package gates

import (
	"time"

	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// flights are the attempts in flight. Until an attempt ends, it counts as one that does not fail, so fast failures do
// not outrun slow successes that began earlier.
type flights struct {
	most    time.Duration // an attempt that lasts longer is dropped: its partition went to another instance
	open    map[header.Position]flight
	first   int64            // first attempts of their records
	all     int64            // including later attempts
	batches map[string]int64 // the same by batch
	swept   time.Time
}

type flight struct {
	began time.Time
	batch string
	first bool
	stale bool // it began before the counts were reset
}

func newFlights(most time.Duration) flights {
	return flights{most: most, open: map[header.Position]flight{}, batches: map[string]int64{}}
}

// begin adds an attempt, also a repeated one, for example after an aborted transaction.
func (f *flights) begin(at header.Position, one flight) {
	f.sweep(one.began)
	f.end(at)
	f.open[at] = one
	f.count(one, 1)
}

// end removes an attempt. An attempt that was never added, such as that of an unreadable record, is not stale.
func (f *flights) end(at header.Position) (stale bool) {
	one := f.open[at]
	delete(f.open, at)
	f.count(one, -1)
	return one.stale
}

func (f *flights) count(one flight, sign int64) {
	if one.stale || one.began.IsZero() {
		return
	}
	f.all += sign
	if one.first {
		f.first += sign
	}
	if one.batch == "" {
		return
	}
	if f.batches[one.batch] += sign; f.batches[one.batch] == 0 {
		delete(f.batches, one.batch)
	}
}

// age marks attempts in flight as stale: those whose batch matches.
func (f *flights) age(of func(batch string) bool) {
	for at, one := range f.open {
		if !one.stale && of(one.batch) {
			f.count(one, -1)
			one.stale = true
			f.open[at] = one
		}
	}
}

// sweep drops attempts that last too long.
func (f *flights) sweep(now time.Time) {
	if now.Sub(f.swept) < f.most/4 {
		return
	}
	f.swept = now
	for at, one := range f.open {
		if now.Sub(one.began) > f.most {
			f.end(at)
		}
	}
}
