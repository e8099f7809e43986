//go:build unix

package chaos

import (
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// S3-1, S4-14, S2-9: everything at once, at random, on pipelines of 1, 6 and 48
// partitions, one in each order, beside each other on one broker.
func TestChaosMixed_S3_1_S4_14_S2_9(t *testing.T) {
	testrun.Nightly(t)
	length := time.Duration(*minutesFlag * float64(time.Minute))
	bound := 6*time.Minute + 2*length
	scenes := []*scene{
		newScene(t, bound, setup{order: retrytopics.OrderStrict, partitions: 1, workers: []string{"a", "b"}, rate: 100, proxied: true}),
		newScene(t, bound, setup{order: retrytopics.OrderLatestWins, partitions: 6, workers: three(), rate: 150, proxied: true}),
		newScene(t, bound, setup{order: retrytopics.OrderNone, partitions: 48, workers: three(), rate: 150, proxied: true}),
	}
	lead := scenes[0] // its seed leads; a given seed is that of all
	began := time.Now()
	for round := 0; round == 0 || time.Since(began) < length; round++ {
		kinds := strikes(length == 0)
		lead.rng.Shuffle(len(kinds), func(i, j int) { kinds[i], kinds[j] = kinds[j], kinds[i] })
		for _, kind := range kinds {
			sc := scenes[lead.rng.IntN(len(scenes))]
			t.Logf("%6.1f s: %s, %d partitions", time.Since(began).Seconds(), kind.name, sc.setup.partitions)
			kind.do(sc)
		}
		if t.Failed() {
			break
		}
	}
	for _, sc := range scenes {
		sc.calm() // all of them first: they share the machine
	}
	for _, sc := range scenes {
		sc.end()
	}
}
