//go:build unix

package chaos

import (
	"fmt"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// three instances are enough for every kind of hand-over.
func three() []string { return []string{"a", "b", "c"} }

// S3-1, S4-14, S2-9: workers killed in mid-flow, one or all at once, lose nothing,
// double nothing, and keep the order; on topics of 1, 6 and 48 partitions, which share
// the kills.
func TestChaosKill_S3_1_S4_14(t *testing.T) {
	testrun.Nightly(t)
	sizes := []int32{1, 6, 48}
	kills := (*killsFlag + len(sizes) - 1) / len(sizes)
	for _, partitions := range sizes {
		t.Run(fmt.Sprintf("%d partitions", partitions), func(t *testing.T) {
			t.Parallel()
			sc := newScene(t, killBound(kills), setup{order: retrytopics.OrderStrict, partitions: partitions, workers: three(), rate: 200})
			for sc.fleet.killed() < kills {
				sc.strikeKill()
			}
			sc.end()
		})
	}
}

// killBound is a generous time for so many kills.
func killBound(kills int) time.Duration { return sceneBound + time.Duration(kills)*15*time.Second }
