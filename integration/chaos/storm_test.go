//go:build unix

package chaos

import (
	"testing"
	"time"

	"github.com/switchback-geo/switchback/integration/chaos/feed"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// The storm: what waits at once is ten times as much as the engine may hold of it.
const (
	stormRecords = 20_000
	stormPad     = 16 << 10  // a payload has half of it on average: 160 MB wait
	stormHeld    = 16 << 20  // bytes of records that the engine may hold, about
	stormLimit   = 128 << 20 // bytes that the runtime may keep in memory: what lives must fit, or it grows beyond
)

// S0-4, S4-14: all records fail at once. The tiers take the full stream, and when the
// storm is over, retries run again. The log tells memory and lateness.
func TestChaosStorm_S0_4_S4_14(t *testing.T) {
	testrun.Nightly(t)
	t.Parallel()
	mix := feed.DefaultMix()
	mix.Transient, mix.Permanent, mix.Slow, mix.Pad, mix.Keys = 1, 0, 0, stormPad, 50_000
	sc := newScene(t, sceneBound, setup{
		order: retrytopics.OrderStrict, partitions: 6, workers: []string{"a"}, rate: 3000, most: stormRecords, mix: mix, held: stormHeld, memory: stormLimit,
		delays: []time.Duration{4 * time.Second, 5 * time.Second, 6 * time.Second},
	})
	sc.sending(stormRecords)
	sc.enough()
	sc.drain()
	calm := time.Now()
	sc.feed(feed.DefaultMix(), 100, 0)
	sc.sending(600)
	history := sc.end()
	t.Logf("the worker had %d MiB in memory at most", sc.fleet.memory()>>20)
	late, of := history.LatenessSince(calm, .5)
	expect.That(t, of != 0, "seed %d: no retry after the storm", sc.seed)
	t.Logf("after the storm: %d retries, late p50 %v", of, late.Round(time.Millisecond))
}
