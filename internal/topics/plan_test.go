package topics

import (
	"slices"
	"testing"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

const pipeline = `
pipeline:
  id: features
  retry_policy: { max_attempts: 5, base_delay_seconds: 2, retryable_status_codes: [429, 502, 503, 504] }
  tolerance: { max_null_rate: 0.005, halt_on_geometry_invalid: false }
topics: { partitions: 3 }
`

func parse(t *testing.T, text string) *config.Config {
	t.Helper()
	return must.Get(config.Parse("pipeline.yaml", []byte(text), func(string) string { return "" }))(t)
}

func TestPlan(t *testing.T) {
	want := []string{
		"features (source): 3 partitions, clean-up as its owner says",
		"features.retry-2s (tier): 3 partitions, kept for ever",
		"features.retry-8s (tier): 3 partitions, kept for ever",
		"features.retry-60s (tier): 3 partitions, kept for ever",
		"features.dlq (dlq): 3 partitions, kept for ever",
		"features.out (output): 3 partitions, clean-up as its owner says",
		"features.state (state): 3 partitions, compacted",
		"features.ledger (ledger): 3 partitions, kept for 24 hours",
		"features.dlq-status (dlq-status): 3 partitions, compacted",
		"features.audit (audit): 3 partitions, kept for 365 days",
		"features.control (control): 1 partition, compacted",
	}
	var got []string
	for _, topic := range Plan(parse(t, pipeline)) {
		got = append(got, topic.String())
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// TestPlan_shards proves which topics share the source's partitions: those whose partition p belongs to shard p.
func TestPlan_shards(t *testing.T) {
	shared := []Role{RoleTier, RoleDLQ, RoleState, RoleLedger, RoleDLQStatus}
	for _, topic := range Plan(parse(t, pipeline)) {
		if topic.Shared != slices.Contains(shared, topic.Role) {
			t.Errorf("%s: shared is %v", topic, topic.Shared)
		}
		if !slices.Contains(Roles(), topic.Role) || !slices.Contains(Cleanups(), topic.Cleanup) {
			t.Errorf("%s has a role or clean-up outside its list", topic)
		}
		if wantsRoom := topic.Role == RoleTier || topic.Role == RoleDLQ; (topic.Headroom == 16384) != wantsRoom {
			t.Errorf("%s: headroom %d", topic, topic.Headroom)
		}
	}
}
