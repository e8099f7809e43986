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

// In the storm, ten times as many bytes wait as the engine may keep.
const (
	stormRecords = 20_000
	stormPad     = 16 << 10 // maximum; payloads have half of it on average, so 160 MB wait
	stormHeld    = 16 << 20 // approximate limit of the bytes of records that the engine keeps
)

// S0-4, S4-14: all records fail at once. The tiers accept all of them, and after the storm, new retries run.
func TestChaosStorm_S0_4_S4_14(t *testing.T) {
	testrun.Nightly(t)
	t.Parallel()
	mix := feed.DefaultMix()
	mix.Transient, mix.Permanent, mix.Slow, mix.Pad, mix.Keys = 1, 0, 0, stormPad, 50_000
	sc := newScene(t, sceneBound, setup{
		order: retrytopics.OrderStrict, partitions: 6, workers: []string{"a"}, rate: 3000, limit: stormRecords, mix: mix, heldBytes: stormHeld,
		delays: []time.Duration{4 * time.Second, 5 * time.Second, 6 * time.Second},
	})
	sc.untilSent(stormRecords)
	sc.stopLoad()
	sc.drain()
	calm := time.Now()
	sc.feed(feed.DefaultMix(), 100, 0)
	sc.untilSent(600)
	expect.That(t, slices.ContainsFunc(sc.end(), calm.Before), "seed %d: no retry after the storm", sc.seed)
}

// Three instances are enough for every kind of hand-over.
func threeInstances() []string { return []string{"a", "b", "c"} }

// S3-1, S4-14, S2-9: all kinds of faults at random. Pipelines with 1, 6 and 48 partitions, each with another ordering
// mode, run in parallel on one broker.
func TestChaosMixed_S3_1_S4_14_S2_9(t *testing.T) {
	testrun.Nightly(t)
	length := time.Duration(*minutesFlag * float64(time.Minute))
	bound := 6*time.Minute + 2*length
	scenes := []*scene{
		newScene(t, bound, setup{order: retrytopics.OrderStrict, partitions: 1, workers: []string{"a", "b"}, rate: 100, proxied: true}),
		newScene(t, bound, setup{order: retrytopics.OrderLatestWins, partitions: 6, workers: threeInstances(), rate: 150, proxied: true}),
		newScene(t, bound, setup{order: retrytopics.OrderNone, partitions: 48, workers: threeInstances(), rate: 150, proxied: true}),
	}
	lead := scenes[0] // its seed draws the faults; a seed from the command line applies to all scenes
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
		sc.calm() // for all scenes first, because they share the machine
	}
	for _, sc := range scenes {
		sc.end()
	}
}

// verify checks that `consumer verify`, the operators' command, proves the scene too. The journal is its audit trail.
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
	cfg.Pipeline.RetryPolicy.Tiers = nil // verify finds the tiers of the scene by their prefix
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
