//go:build unix

package chaos

import (
	"context"
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/verify"
)

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
	cfg, err := config.Parse("chaos.yaml", []byte(file), nil)
	sc.must(err)
	cfg.Pipeline.RetryPolicy.Tiers = nil // those of the scene are found by their prefix
	client, err := kgo.NewClient(kgo.SeedBrokers(sc.kafka.Addr))
	sc.must(err)
	defer client.Close()
	proven, err := verify.Prover(func(string) string { return "" }, nil)
	sc.must(err)
	report, err := verify.Run(ctx, client, cfg, verify.Options{
		Bounds: verify.Bounds{Partition: -1}, Limit: verify.DefaultLimit, Rounds: verify.DefaultRounds, MaxPositions: verify.DefaultMaxPositions, Proven: proven,
	})
	sc.must(err)
	var text strings.Builder
	sc.must(report.Text(&text))
	if report.Verdict != verify.Proven || len(report.Findings) > 0 || report.All.Records != int64(sc.sent) {
		sc.t.Errorf("seed %d: %d records were acknowledged; consumer verify: %s", sc.seed, sc.sent, text.String())
		return
	}
	sc.t.Log(report.Line())
}
