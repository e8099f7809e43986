package topics

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/fakekafka"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// broker starts a broker and returns its admin client.
func broker(t *testing.T, opts ...kfake.Opt) *kadm.Client {
	t.Helper()
	_, admin := brokerOf(t, opts...)
	return admin
}

// brokerOf also returns the cluster, for tests in which it refuses requests.
func brokerOf(t *testing.T, opts ...kfake.Opt) (*kfake.Cluster, *kadm.Client) {
	t.Helper()
	cluster := fakekafka.Start(t, opts...)
	client := fakekafka.Client(t, cluster)
	return cluster, kadm.NewClient(client)
}

func create1(t *testing.T, admin *kadm.Client, topic string, partitions int32, settings map[string]string) {
	t.Helper()
	configs := map[string]*string{}
	for key, value := range settings {
		configs[key] = &value
	}
	must.Get(admin.CreateTopic(t.Context(), partitions, 1, configs, topic))(t)
}

func ensure(t *testing.T, admin *kadm.Client, plan []Topic) Report {
	t.Helper()
	return must.Get(Ensure(t.Context(), admin, plan))(t)
}

func check(t *testing.T, admin *kadm.Client, plan []Topic) []Fault {
	t.Helper()
	return must.Get(Check(t.Context(), admin, plan))(t)
}

func TestEnsure(t *testing.T) {
	t.Run("C-6_creates_all_and_check_is_content", func(t *testing.T) {
		admin, plan := broker(t), Plan(parse(t, pipeline))
		faults := check(t, admin, plan)
		must.That(t, len(faults) == len(plan), "on an empty broker %d of %d topics are missing: %v", len(faults), len(plan), faults)
		first := ensure(t, admin, plan)
		expect.That(t, slices.Equal(first.Created, plan) && len(first.Existing) == 0 && len(first.Faults) == 0, "first time:\n%s", first)
		faults = check(t, admin, plan)
		expect.That(t, len(faults) == 0, "check after ensure: %v", faults)
		second := ensure(t, admin, plan)
		expect.That(t, len(second.Created) == 0 && slices.Equal(second.Existing, plan) && len(second.Faults) == 0, "second time:\n%s", second)
	})
	t.Run("C-6_count_and_size_of_an_existing_source_rule", func(t *testing.T) {
		admin, plan := broker(t), Plan(parse(t, pipeline))
		create1(t, admin, "features", 5, map[string]string{"max.message.bytes": "12582912"})
		report := ensure(t, admin, plan)
		must.That(t, len(report.Created) == len(plan)-1 && len(report.Existing) == 1 && report.Existing[0].Partitions == 5 && len(report.Faults) == 0, "report:\n%s", report)
		seen := must.Get(observe(t.Context(), admin, plan))(t)
		for _, topic := range plan {
			have := seen[topic.Name]
			expect.That(t, (!topic.Shared || have.partitions == 5) && (topic.Role != RoleControl || have.partitions == 1), "%s has %d partitions", topic.Name, have.partitions)
			expect.That(t, topic.Headroom <= 0 || have.maxMessage() == 12599296, "%s takes %d bytes", topic.Name, have.maxMessage())
		}
	})
	t.Run("C-6_changes_nothing_that_exists_but_says_what_differs", func(t *testing.T) {
		admin, plan := broker(t), Plan(parse(t, pipeline))
		create1(t, admin, "features", 3, nil)
		create1(t, admin, "features.dlq", 2, map[string]string{"retention.ms": "1000"})
		report := ensure(t, admin, plan)
		if len(report.Faults) != 3 { // partitions, retention.ms, max.message.bytes
			t.Errorf("report:\n%s", report)
		}
		for _, part := range []string{"created  features.retry-2s (tier): 3 partitions", "existing features.dlq (dlq): 2 partitions", "differs  features.dlq (dlq): retention.ms is 1000"} {
			expect.That(t, strings.Contains(report.String(), part), "the report lacks %q:\n%s", part, report)
		}
		seen := must.Get(observe(t.Context(), admin, plan))(t)
		dlq := seen["features.dlq"]
		expect.That(t, dlq.partitions == 2 && dlq.settings["retention.ms"] == "1000", "the DLQ was changed: %+v", dlq)
	})
	t.Run("a_topic_that_cannot_be_created_is_named", func(t *testing.T) {
		admin, plan := broker(t), Plan(parse(t, pipeline))
		plan[1].Replication = 3 // on a cluster of one broker
		report, err := Ensure(t.Context(), admin, plan)
		expect.That(t, err != nil && strings.Contains(err.Error(), "features.retry-2s") && !strings.Contains(err.Error(), "\n"), "got %v", err)
		expect.That(t, len(report.Created) == len(plan)-1, "the others were not created:\n%s", report)
	})
}

// TestCheck_creates_nothing checks that `check` does not create topics, even on a broker with automatic creation.
func TestCheck_creates_nothing(t *testing.T) {
	admin, plan := broker(t, kfake.AllowAutoTopicCreation()), Plan(parse(t, pipeline))
	check(t, admin, plan)
	listed, err := admin.ListTopics(kadm.WithAuthorizedOps(t.Context()))
	expect.That(t, err == nil && len(listed) == 0, "after check there are %v, %v", listed.Names(), err)
}

// A request that the cluster refuses results in an error with the name of the topic.
func TestEnsure_S4_15_namesTheTopicWhoseSettingsAreRefused(t *testing.T) {
	cluster, admin := brokerOf(t)
	plan := Plan(parse(t, pipeline))
	cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.DescribeConfigs}, Resource: plan[2].Name, Err: kerr.TopicAuthorizationFailed, Count: -1})
	_, err := Ensure(t.Context(), admin, plan)
	denied, ok := errors.AsType[*retrytopics.DeniedError](err)
	expect.That(t, ok && denied.Operation == "DescribeConfigs" && denied.Resource == "topic "+plan[2].Name, "%v", err)
}

func cluster(t *testing.T, topics ...string) (*kfake.Cluster, *config.Config, *kgo.Client) {
	t.Helper()
	c := fakekafka.Start(t, kfake.SeedTopics(2, topics...))
	cfg := must.Get(config.Parse("pipeline.yaml", fmt.Appendf(nil, `
pipeline:
  id: features
  retry_policy: { max_attempts: 3, base_delay_seconds: 2.0, multiplier: 4, retryable_status_codes: [503] }
  tolerance: { max_null_rate: 0.005, halt_on_geometry_invalid: false }
kafka: { brokers: [%s] }
`, strings.Join(c.ListenAddrs(), ", ")), func(string) string { return "" }))(t)
	client := fakekafka.Client(t, c, kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.TransactionalID("t"))
	return c, cfg, client
}

func produced(ctx context.Context, t *testing.T, client *kgo.Client, topics ...string) {
	t.Helper()
	must.Do(t, client.BeginTransaction())
	for _, topic := range topics {
		must.Do(t, client.ProduceSync(ctx, &kgo.Record{Topic: topic, Partition: 1, Value: []byte("v")}).FirstErr())
	}
}

func lags(all []Backlog) (out []string) {
	for _, t := range all {
		out = append(out, fmt.Sprint(t.Topic, " ", t.Former, " ", t.Lag()))
	}
	return out
}

// S4-8: the source comes first, then the tiers, then the former tiers. An open transaction is beyond the stable end, but
// not beyond the end of everything that was written.
func TestBacklogs_S4_8_bothEnds(t *testing.T) {
	ctx := testrun.Context(t, 20*time.Second)
	const former = "features.retry-7s"
	_, cfg, client := cluster(t, "features", "features.retry-2s", "features.retry-8s", "features.retry-60s", former)
	admin := kadm.NewClient(client)
	produced(ctx, t, client, "features", "features", former)
	must.Do(t, client.EndTransaction(ctx, kgo.TryCommit))
	committed := kadm.Offsets{}
	committed.AddOffset("features", 1, 3, -1) // after the marker
	must.Do(t, admin.CommitAllOffsets(ctx, cfg.Source.Group, committed))
	produced(ctx, t, client, "features") // stays open
	for until, source := range map[kafka.Ends]int{kafka.Stable: 0, kafka.Written: 1} {
		all := must.Get(Backlogs(ctx, admin, cfg, until))(t)
		want := []string{fmt.Sprint("features false ", source), "features.retry-2s false 0", "features.retry-8s false 0", "features.retry-60s false 0", former + " true 2"}
		got := lags(all)
		expect.That(t, reflect.DeepEqual(got, want), "ends %d: %q, want %q", until, got, want)
	}
}

// A missing topic is named, too.
func TestBacklogs_S4_8_namesTheMissingTopic(t *testing.T) {
	ctx := testrun.Context(t, 20*time.Second)
	_, cfg, client := cluster(t, "features", "features.retry-2s", "features.retry-60s")
	all, err := Backlogs(ctx, kadm.NewClient(client), cfg, kafka.Stable)
	expect.That(t, err != nil && strings.Contains(err.Error(), "features.retry-8s: UNKNOWN"), "%v, %v", all, err)
}

// S4-10: waiting records must not expire in a tier. The retention of the other topics is their owner's decision.
func TestBlocks_S4_10(t *testing.T) {
	for _, role := range Roles() {
		for _, kind := range FaultKinds() {
			always := kind == FaultMissing || kind == FaultPartitions
			expires := kind == FaultRetention || kind == FaultCleanup
			expect.Equal(t, (Fault{Role: role, Kind: kind}).Blocks(), (always || expires && role == RoleTier), kind, "of", role, "blocks")
		}
	}
}

// S3-1: a former tier is listed with the number of its waiting records. If records wait in it, it is checked like a
// tier. No command deletes it: a group that passed over the records of another pipeline has a commit in a live tier of
// that pipeline.
func TestFindFormer_S3_1(t *testing.T) {
	admin, cfg := broker(t), parse(t, pipeline)
	ensure(t, admin, Plan(cfg))
	create1(t, admin, "features.retry-7s", 3, map[string]string{"retention.ms": "1000"})
	create1(t, admin, "features.retry-9h", 3, map[string]string{"retention.ms": "-1"})
	create1(t, admin, "features.retry-none", 3, nil)
	find := func(waiting7 int64) []Backlog {
		t.Helper()
		former := must.Get(FindFormer(t.Context(), admin, cfg))(t)
		expect.That(t, len(former) == 2 && former[0].Topic == "features.retry-7s" && former[0].Lag() == waiting7 && former[1].Lag() == 0, "found %+v", former)
		return former
	}
	text := find(0)[0].FormerText()
	expect.That(t, strings.Contains(text, "do not delete it unless it is yours"), "it may be another pipeline's: %s", text)
	finished := kadm.Offsets{}
	finished.AddOffset("features.retry-7s", 0, 0, -1)
	must.Get(admin.CommitOffsets(t.Context(), cfg.Source.Group, finished))(t)
	empty := find(0)[0].FormerText()
	expect.That(t, !strings.Contains(empty, "kafka-topics.sh") && strings.Contains(empty, "no other pipeline"), "%s", empty)
	faultsOf := func() []Fault {
		t.Helper()
		plan := must.Get(PlanOn(t.Context(), admin, cfg))(t)
		return check(t, admin, plan)
	}
	faults := faultsOf()
	expect.That(t, len(faults) == 0, "while it is empty: %v", faults)
	produce(t, admin, "features.retry-7s", 4)
	text = find(4)[0].FormerText()
	expect.That(t, strings.Contains(text, "4 records wait"), "%s", text)
	faults = faultsOf()
	expect.That(t, len(faults) == 1 && faults[0].Blocks() && strings.Contains(faults[0].Fix, "--entity-name features.retry-7s --add-config retention.ms=-1"), "with records that expire: %v", faults)
}

// S3-1: a foreign topic with the name of a tier does not prevent a pipeline from starting.
func TestPlanOn_S3_1_aTopicOfSomebodyElse(t *testing.T) {
	admin, cfg := broker(t), parse(t, pipeline)
	ensure(t, admin, Plan(cfg))
	create1(t, admin, "features.retry-7s", 4, map[string]string{"retention.ms": "1000", "cleanup.policy": "compact"})
	produce(t, admin, "features.retry-7s", 4)
	plan := must.Get(PlanOn(t.Context(), admin, cfg))(t)
	faults := check(t, admin, plan)
	expect.That(t, len(faults) == 0, "%v", faults)
}

// produce writes records to a topic.
func produce(t *testing.T, admin *kadm.Client, topic string, n int) {
	t.Helper()
	address := must.Get(bootstrap(t.Context(), admin))(t)
	client := must.Get(kgo.NewClient(kgo.SeedBrokers(address)))(t)
	defer client.Close()
	for range n {
		must.Do(t, client.ProduceSync(t.Context(), &kgo.Record{Topic: topic, Key: []byte("k"), Value: []byte("v")}).FirstErr())
	}
}
