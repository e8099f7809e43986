//go:build unix

package chaos

import (
	"testing"
	"time"

	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// three instances are enough for every kind of hand-over.
func three() []string { return []string{"a", "b", "c"} }

// S3-1, S4-14, S2-9: workers killed in mid-flow, one or all at once, lose nothing,
// double nothing, and keep the order.
func TestChaosKill_S3_1_S4_14(t *testing.T) {
	t.Parallel()
	sc := newScene(t, killBound(), setup{order: retrytopics.OrderStrict, partitions: 6, workers: three(), rate: 400})
	for sc.fleet.killed() < *killsFlag {
		sc.strikeKill()
	}
	sc.end()
	if n := sc.fleet.killed(); n < *killsFlag {
		t.Errorf("%d kills, %d were asked for", n, *killsFlag)
	}
}

// killBound is a generous time for so many kills.
func killBound() time.Duration { return 3*time.Minute + time.Duration(*killsFlag)*15*time.Second }
