package retrytopics

import (
	"time"
)

const (
	// paceTarget is how long a transaction should take. Results that finish meanwhile wait for the next one, so half of
	// the results are committed within about twice this time: 38 ms keep that below the 80 ms that bench/engine aims at.
	paceTarget = 38 * time.Millisecond
	// minPace is the least number of results per transaction, however long the last one took: a small transaction tells
	// little.
	minPace = 1000
)

// pace returns how many finished records may wait for a transaction before only those from the tiers are started. The
// last transaction carried n records and took took. If workers run further ahead of the commits, less processor time is
// left for commits, and every result waits longer. It is pure.
func pace(n int, took time.Duration) int {
	return max(minPace, int(float64(n)*float64(paceTarget)/float64(max(took, time.Millisecond))))
}
