//go:build unix

package chaos

import (
	"testing"
	"time"

	"github.com/switchback-geo/switchback/integration/chaos/feed"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// The storm: what waits at once is ten times as much as the engine may hold of it.
const (
	stormRecords = 20_000
	stormPad     = 16 << 10  // a payload has half of it on average: 160 MB wait
	stormHeld    = 16 << 20  // bytes of records that the engine may hold, about
	stormLimit   = 128 << 20 // bytes that the runtime may keep in memory: what lives must fit, or it grows beyond
	stormMemory  = 160 << 20 // bytes of the whole process at most, the runtime's and the client's included
)

// S0-4, S4-14: all records fail at once. The tiers take the full stream, memory stays
// bounded, and when the storm is over, retries are as punctual as before.
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
	if peak := sc.fleet.memory(); peak == 0 || peak > stormMemory {
		t.Errorf("seed %d: the worker had %d MiB in memory, want at most %d", sc.seed, peak>>20, stormMemory>>20)
	} else {
		t.Logf("the worker had %d MiB in memory at most", peak>>20)
	}
	late, of := history.LatenessSince(calm, .5)
	if of == 0 || late > time.Second {
		t.Errorf("seed %d: half of %d retries after the storm were more than %v late", sc.seed, of, late)
	}
	t.Logf("after the storm: %d retries, late p50 %v", of, late.Round(time.Millisecond))
}
