package judge

import (
	"math"

	"github.com/switchback-geo/switchback/integration/simulation/plan"
)

// limits checks the bounds on records in memory and on requests to the brokers.
func (h *history) limits() {
	for _, held := range h.Held {
		if held.Most > held.Limit {
			h.report(Memory, "", "%s had %d records at a time, at most %d are allowed", held.Instance, held.Most, held.Limit)
		}
	}
	if limit := MostBusy(h.Plan); h.Busy > limit {
		h.report(Pause, "", "a process sent %d requests within %v, at most %d are allowed", h.Busy, BusyWindow, limit)
	}
}

// Limit returns how many records a process may have: the shares of all partitions, and one poll of the client. A
// broker answers with a complete batch, however large; that of a transaction in which many records failed has the
// largest size of a batch.
func Limit(p plan.Plan) int {
	const least = 256 // of a partition, whatever the configuration
	fetched := float64(1<<20) / float64(200+p.Load.Pad)
	held := p.Engine.HeldRecords
	if held == 0 {
		held = 20000
	}
	return max(held, partitionCount(p)*least) + int(math.Ceil(float64(partitionCount(p))*fetched))
}

// MostBusy returns how many requests a process may send within BusyWindow. The network takes half a millisecond, so a
// loop without a pause sends about 10,000.
func MostBusy(p plan.Plan) int64 {
	const (
		idle     = 2000 // long polls, heartbeats, metadata
		perEvent = 10   // at most one transaction for each
	)
	return idle + int64(perEvent*p.Load.Records)
}

// partitionCount returns the number of partitions that one process may read.
func partitionCount(p plan.Plan) int { return int(p.Cluster.Partitions) * (1 + len(p.Delays())) }
