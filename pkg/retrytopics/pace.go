package retrytopics

import (
	"time"
)

const (
	// paceTarget is how long a transaction should take. What finishes meanwhile waits for the next one, so half of the
	// results are committed within about twice of it: 38 ms keep that below the 80 ms that bench/engine aims at.
	paceTarget = 38 * time.Millisecond
	// minPace is how much a transaction may carry however long the last one took: a small one tells little.
	minPace = 1000
)

// pace gives how many finished records may wait for a transaction before only those from the tiers are started, by the
// last one: n records, committed in took. The more workers run ahead of the commits, the less of the processors is left
// for them, and the longer every result waits. It is pure.
func pace(n int, took time.Duration) int {
	return max(minPace, int(float64(n)*float64(paceTarget)/float64(max(took, time.Millisecond))))
}
