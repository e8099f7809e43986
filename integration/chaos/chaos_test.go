//go:build unix

package chaos

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/integration/chaos/feed"
	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/internal/verify"
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
	late := slices.DeleteFunc(sc.end(), func(l lateness) bool { return !l.due.After(calm) })
	t.Logf("the worker had %d MiB in memory at most", sc.fleet.memory()>>20)
	expect.That(t, len(late) != 0, "seed %d: no retry after the storm", sc.seed)
	t.Logf("after the storm: %d retries, late p50 %v", len(late), quantile(late, .5))
}

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

// verify wants what operators have, `consumer verify`, to prove the scene too. The journal is its audit trail.
func (sc *scene) verify(ctx context.Context) {
	sc.t.Helper()
	file := fmt.Sprintf(`pipeline:
  id: %[1]s
  retry_policy: { max_attempts: 5, base_delay_seconds: 2.0, retryable_status_codes: [503], tiers: [2s] }
  tolerance: { max_null_rate: 1, halt_on_geometry_invalid: false }
output: { topic: %[2]s }
topics: { audit: %[3]s }
`, sc.base.Source, sc.base.Output, sc.base.Journal)
	cfg := must.Get(config.Parse("chaos.yaml", []byte(file), nil))(sc.t)
	cfg.Pipeline.RetryPolicy.Tiers = nil // those of the scene are found by their prefix
	client := must.Get(kgo.NewClient(kgo.SeedBrokers(sc.kafka.Addr)))(sc.t)
	defer client.Close()
	proven := must.Get(verify.Prover(func(string) string { return "" }, nil))(sc.t)
	report, err := verify.Run(ctx, client, cfg, verify.Options{
		Bounds: verify.Bounds{Partition: -1}, Limit: verify.DefaultLimit, MaxPositions: verify.DefaultMaxPositions, Proven: proven,
	})
	must.Do(sc.t, err)
	var text strings.Builder
	must.Do(sc.t, report.Text(&text))
	if report.Verdict != verify.Proven || len(report.Findings) > 0 || report.All.Records != int64(sc.sent) {
		sc.t.Errorf("seed %d: %d records were acknowledged; consumer verify: %s", sc.seed, sc.sent, text.String())
		return
	}
	sc.t.Log(report.Line())
}
