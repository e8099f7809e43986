package topics

import (
	"slices"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// healthy is a view of the broker without faults.
func healthy(plan []Topic) map[string]observed {
	seen := map[string]observed{}
	for _, topic := range plan {
		settings := map[string]string{settingMaxMessage: "1048588", settingCleanup: "delete", settingRetention: "604800000", settingRetentionBytes: "-1"}
		for key, value := range topic.settings(1048588) {
			settings[key] = *value
		}
		seen[topic.Name] = observed{partitions: topic.Partitions, settings: settings}
	}
	return seen
}

func TestCompare(t *testing.T) {
	const (
		topicsCommand  = "kafka-topics.sh --bootstrap-server b:9092 "
		configsCommand = "run: kafka-configs.sh --bootstrap-server b:9092 --alter --entity-type topics --entity-name "
	)
	set := func(topic, key, value string) func(map[string]observed) {
		return func(seen map[string]observed) { seen[topic].settings[key] = value }
	}
	size := func(topic string, n int32) func(map[string]observed) {
		return func(seen map[string]observed) { seen[topic] = observed{partitions: n, settings: seen[topic].settings} }
	}
	for _, c := range []struct {
		name  string
		spoil func(map[string]observed)
		want  []string // one per fault: parts of it, separated by |
	}{
		{"nothing_wrong", func(map[string]observed) {}, nil},
		{"missing_tier", func(seen map[string]observed) { delete(seen, "features.retry-8s") },
			[]string{"features.retry-8s (tier)|missing|does not exist|consumer topics ensure"}},
		{"missing_source", func(seen map[string]observed) { delete(seen, "features") },
			[]string{"features (source)|missing"}},
		{"everything_missing", func(seen map[string]observed) { clear(seen) }, slices.Repeat([]string{"missing"}, 11)},
		{"too_few_partitions_can_grow", size("features.dlq", 2),
			[]string{"features.dlq (dlq)|partitions|2 partitions|features has 3|run: " + topicsCommand + "--alter --topic features.dlq --partitions 3"}},
		{"too_many_partitions_cannot_shrink", size("features.retry-2s", 12),
			[]string{"features.retry-2s (tier)|partitions|12 partitions|" + topicsCommand + "--alter --topic features --partitions 12|" + topicsCommand + "--delete --topic features.retry-2s"}},
		{"source_grew", size("features", 6), slices.Repeat([]string{"partitions|3 partitions|features has 6|--partitions 6"}, 7)},
		{"control_has_two", size("features.control", 2), []string{"features.control (control)|partitions|2 partitions|must have 1|--delete --topic features.control"}},
		{"output_and_audit_may_have_any", func(seen map[string]observed) { size("features.out", 7)(seen); size("features.audit", 1)(seen) }, nil},
		{"tier_is_compacted", set("features.retry-2s", settingCleanup, "compact"),
			[]string{"cleanup_policy|is compact, but must be delete|" + configsCommand + "features.retry-2s --add-config cleanup.policy=delete"}},
		{"dlq_is_compacted_too", set("features.dlq", settingCleanup, "delete,compact"), []string{"cleanup_policy|delete,compact"}},
		{"state_is_deleted_by_age_too", set("features.state", settingCleanup, "compact, delete"), []string{"cleanup_policy|must be compact|--add-config cleanup.policy=compact"}},
		{"dlq_forgets_after_a_week", set("features.dlq", settingRetention, "604800000"),
			[]string{"retention|604800000, but must be -1|" + configsCommand + "features.dlq --add-config retention.ms=-1"}},
		{"tier_is_cut_by_size", set("features.retry-60s", settingRetentionBytes, "1073741824"),
			[]string{"retention|retention.bytes is 1073741824|--add-config retention.bytes=-1"}},
		{"audit_forgets_after_a_week", set("features.audit", settingRetention, "604800000"), []string{"retention|at least 31536000000|--add-config retention.ms=31536000000"}},
		{"audit_is_kept_longer", set("features.audit", settingRetention, "63072000000"), nil},
		{"audit_is_kept_for_ever", set("features.audit", settingRetention, "-1"), nil},
		{"retention_that_is_no_number", set("features.audit", settingRetention, ""), []string{"retention"}},
		{"dlq_takes_no_headers", set("features.dlq", settingMaxMessage, "1048588"),
			[]string{"max_message_bytes|is 1048588|16384 more|" + configsCommand + "features.dlq --add-config max.message.bytes=1064972"}},
		{"dlq_takes_nothing", set("features.dlq", settingMaxMessage, "200"), []string{"features.dlq (dlq)|is 200, but the pipeline's records|--add-config max.message.bytes=1064972"}},
		{"state_takes_nothing", set("features.state", settingMaxMessage, "16383"), []string{"features.state (state)|need up to 16384|--add-config max.message.bytes=1048588"}},
		{"dlq_takes_more_than_it_must", set("features.dlq", settingMaxMessage, "9999999"), nil},
		{"source_takes_more", set("features", settingMaxMessage, "12582912"),
			append(slices.Repeat([]string{"max_message_bytes|--add-config max.message.bytes=12599296"}, 4),
				"features.out (output)|max_message_bytes|output_too_large|--add-config max.message.bytes=12582912")},
		{"output_takes_less", set("features.out", settingMaxMessage, "1000000"),
			[]string{"features.out (output)|max_message_bytes|is 1000000, but the source accepts 1048588|output_too_large"}},
		{"dlq_keeps_nothing_compressed", set("features.dlq", settingCompression, "uncompressed"),
			[]string{"features.dlq (dlq)|compression_type|is uncompressed|--add-config compression.type=producer"}},
		{"state_may_keep_what_it_likes", set("features.state", settingCompression, "uncompressed"), nil},
		{"state_has_large_segments", set("features.state", settingSegment, "1073741824"),
			[]string{"features.state (state)|segment_bytes|is 1073741824|" + configsCommand + "features.state --add-config segment.bytes=8388608,delete.retention.ms=600000"}},
		{"state_has_segments_that_will_do", set("features.state", settingSegment, "67108864"), nil},
		{"dlq_status_has_segments_of_any_size", set("features.dlq-status", settingSegment, "1073741824"), nil},
		{"source_retention_is_the_owners", func(seen map[string]observed) {
			set("features", settingRetention, "1")(seen)
			set("features.out", settingCleanup, "compact")(seen)
		}, nil},
		{"two_faults_of_one_topic", func(seen map[string]observed) {
			size("features.dlq", 1)(seen)
			set("features.dlq", settingCleanup, "compact")(seen)
		}, []string{"partitions|1 partition,", "cleanup_policy"}},
	} {
		t.Run("C-6_"+c.name, func(t *testing.T) {
			plan := Plan(parse(t, pipeline))
			seen := healthy(plan)
			c.spoil(seen)
			faults := compare(plan, seen, "b:9092")
			must.That(t, len(faults) == len(c.want), "got %d faults, want %d:\n%v", len(faults), len(c.want), faults)
			for i, fault := range faults {
				for part := range strings.SplitSeq(c.want[i], "|") {
					text := string(fault.Kind) + " " + fault.String()
					expect.That(t, strings.Contains(text, part), "%q does not contain %q", text, part)
				}
				expect.That(t, slices.Contains(FaultKinds(), fault.Kind) && !strings.Contains(fault.String(), "\n"), "fault %+v", fault)
			}
		})
	}
}

// S0-4: a compacted topic that would refuse the pipeline's records prevents the start. An output topic that refuses
// records without a key is reported before there is such a record.
func TestBlocks_S0_4_compactedTopicsThatTakeNoRecordsWithoutKeys(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		topic, policy, nullKeys string
		fault, blocks           bool
	}{
		{"features.dlq", "compact", "reject", true, true},
		{"features.dlq", "compact,delete", "reject", true, true},
		{"features.ledger", "compact", "reject", true, true},
		{"features.audit", "compact", "reject", true, true},
		{"features.retry-2s", "delete, compact", "reject", true, true},
		{"features.state", "delete", "reject", true, false},
		{"features.dlq-status", "delete", "reject", true, false},
		{"features.out", "compact", "reject", false, false},
		{"features.out", "compact", "accept", true, false},
		{"features.out", "delete,compact", "accept", true, false},
		{"features.out", "delete", "accept", false, false},
		{"features", "compact", "accept", false, false},
	} {
		cfg := parse(t, pipeline)
		cfg.Source.NullKeys = config.NullKeyRule(c.nullKeys)
		plan := Plan(cfg)
		seen := healthy(plan)
		seen[c.topic].settings[settingCleanup] = c.policy
		faults := compare(plan, seen, "b:9092")
		expect.That(t, (len(faults) == 1) == c.fault && len(faults) <= 1 && (!c.fault || faults[0].Blocks() == c.blocks && strings.Contains(faults[0].Fix, "--add-config cleanup.policy=")),
			"%s %s, null_keys %s: %v", c.topic, c.policy, c.nullKeys, faults)
	}
	for topic, blocks := range map[string]bool{"features.retry-2s": true, "features.dlq": true, "features.state": true, "features.audit": true, "features.control": true, "features.out": false} {
		plan := Plan(parse(t, pipeline))
		seen := healthy(plan)
		seen[topic].settings[settingMaxMessage] = "16383"
		faults := compare(plan, seen, "b:9092")
		expect.That(t, len(faults) == 1 && faults[0].Blocks() == blocks, "%s of 16,383 bytes: %v", topic, faults)
	}
}

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
		"features (source): 3 partitions, clean-up chosen by its owner",
		"features.retry-2s (tier): 3 partitions, kept indefinitely",
		"features.retry-8s (tier): 3 partitions, kept indefinitely",
		"features.retry-60s (tier): 3 partitions, kept indefinitely",
		"features.dlq (dlq): 3 partitions, kept indefinitely",
		"features.out (output): 3 partitions, clean-up chosen by its owner",
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
	expect.That(t, slices.Equal(got, want), "got  %q\nwant %q", got, want)
}

// TestPlan_shared checks which topics need as many partitions as the source.
func TestPlan_shared(t *testing.T) {
	shared := []Role{RoleTier, RoleDLQ, RoleState, RoleLedger, RoleDLQStatus}
	for _, topic := range Plan(parse(t, pipeline)) {
		expect.That(t, topic.Shared == slices.Contains(shared, topic.Role), "%s: shared is %v", topic, topic.Shared)
		expect.That(t, slices.Contains(Roles(), topic.Role) && slices.Contains(Cleanups(), topic.Cleanup), "%s has a role or clean-up outside its list", topic)
		wantsRoom := topic.Role == RoleTier || topic.Role == RoleDLQ
		expect.That(t, (topic.Headroom == 16384) == wantsRoom, "%s: headroom %d", topic, topic.Headroom)
	}
}
