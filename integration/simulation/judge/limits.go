package judge

import (
	"math"

	"github.com/switchback-geo/switchback/integration/simulation/plan"
)

// limits: what is held in memory and what is sent to the brokers are bounded.
func (h *history) limits() {
	for _, held := range h.Held {
		if held.Most > held.Limit {
			h.report(Memory, "", "%s held %d records at a time, at most %d are allowed", held.Instance, held.Most, held.Limit)
		}
	}
	if most := MostBusy(h.Plan); h.Busy > most {
		h.report(Pause, "", "a process sent %d requests within %v, at most %d are allowed", h.Busy, BusyWindow, most)
	}
}

// Limit is how many records a process may hold: the shares of all lanes, and what the client returns from one poll. A broker
// answers with a whole batch, however large; that of a transaction in which many records failed is as large as a batch may be.
func Limit(p plan.Plan) int {
	const least = 256 // of a lane, whatever the configuration says
	fetched := float64(1<<20) / float64(200+p.Load.Pad)
	held := p.Engine.HeldRecords
	if held == 0 {
		held = 20000
	}
	return max(held, lanes(p)*least) + int(math.Ceil(float64(lanes(p))*fetched))
}

// MostBusy is how many requests a process may send within BusyWindow. The network takes half a millisecond, so a loop without
// a pause sends some 10,000.
func MostBusy(p plan.Plan) int64 {
	const (
		idle     = 2000 // long polls, heartbeats, metadata
		perEvent = 10   // a transaction for each, at worst
	)
	return idle + int64(perEvent*p.Load.Records)
}

// lanes counts the partitions from which one process may read.
func lanes(p plan.Plan) int { return int(p.Cluster.Partitions) * (1 + len(p.Delays())) }
