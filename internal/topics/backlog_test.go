package topics

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/fakekafka"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

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

// S4-8: the source comes first, then the tiers, then the former ones; an open transaction is behind the stable end, and not behind the
// one of everything that was written.
func TestBacklogs_S4_8_bothEnds(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), testrun.Patient(20*time.Second))
	defer cancel()
	const former = "features.retry-7s"
	_, cfg, client := cluster(t, "features", "features.retry-2s", "features.retry-8s", "features.retry-60s", former)
	admin := kadm.NewClient(client)
	produced(ctx, t, client, "features", "features", former)
	must.Do(t, client.EndTransaction(ctx, kgo.TryCommit))
	committed := kadm.Offsets{}
	committed.AddOffset("features", 1, 3, -1) // behind the marker
	must.Do(t, admin.CommitAllOffsets(ctx, cfg.Source.Group, committed))
	produced(ctx, t, client, "features") // and stays open
	for until, source := range map[kafka.Ends]int{kafka.Stable: 0, kafka.Written: 1} {
		all := must.Get(Backlogs(ctx, admin, cfg, until))(t)
		want := []string{fmt.Sprint("features false ", source), "features.retry-2s false 0", "features.retry-8s false 0", "features.retry-60s false 0", former + " true 2"}
		got := lags(all)
		expect.That(t, reflect.DeepEqual(got, want), "ends %d: %q, want %q", until, got, want)
	}
}

// A topic that is not there is named, too.
func TestBacklogs_S4_8_namesTheMissingTopic(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), testrun.Patient(20*time.Second))
	defer cancel()
	_, cfg, client := cluster(t, "features", "features.retry-2s", "features.retry-60s")
	all, err := Backlogs(ctx, kadm.NewClient(client), cfg, kafka.Stable)
	expect.That(t, err != nil && strings.Contains(err.Error(), "features.retry-8s: UNKNOWN"), "%v, %v", all, err)
}

// S4-10: what waits in a tier must not expire; of the other topics that is for their owner to know.
func TestBlocks_S4_10(t *testing.T) {
	for _, role := range Roles() {
		for _, kind := range FaultKinds() {
			always := kind == FaultMissing || kind == FaultPartitions
			expires := kind == FaultRetention || kind == FaultCleanup
			got := (Fault{Role: role, Kind: kind}).Blocks()
			expect.That(t, got == (always || expires && role == RoleTier), "%s of %s blocks: %v", kind, role, got)
		}
	}
}

// S3-1: a former tier says what waits in it, or that it is empty; one in which something waits is held to what a tier is held to.
// No command deletes it: a group that passed over the records of another pipeline has a commit in a live tier of that one.
func TestFindFormer_S3_1(t *testing.T) {
	admin, cfg := broker(t), parse(t, pipeline)
	ensure(t, admin, Plan(cfg))
	create1(t, admin, "features.retry-7s", 3, map[string]string{"retention.ms": "1000"})
	create1(t, admin, "features.retry-9h", 3, map[string]string{"retention.ms": "-1"})
	create1(t, admin, "features.retry-none", 3, nil)
	find := func(waiting7 int64) []Former {
		t.Helper()
		former := must.Get(FindFormer(t.Context(), admin, cfg))(t)
		expect.That(t, len(former) == 2 && former[0].Topic == "features.retry-7s" && former[0].Delay == 7*time.Second && former[0].Waiting == waiting7 && former[1].Waiting == 0,
			"found %+v", former)
		return former
	}
	text := find(0)[0].String()
	expect.That(t, strings.Contains(text, "do not delete it unless it is yours"), "it may be another pipeline's: %s", text)
	finished := kadm.Offsets{}
	finished.AddOffset("features.retry-7s", 0, 0, -1)
	must.Get(admin.CommitOffsets(t.Context(), cfg.Source.Group, finished))(t)
	empty := find(0)[0].String()
	expect.That(t, !strings.Contains(empty, "kafka-topics.sh") && strings.Contains(empty, "no other pipeline"), "%s", empty)
	faultsOf := func() []Fault {
		t.Helper()
		plan := must.Get(PlanOn(t.Context(), admin, cfg))(t)
		return check(t, admin, plan)
	}
	faults := faultsOf()
	expect.That(t, len(faults) == 0, "while it is empty: %v", faults)
	produce(t, admin, "features.retry-7s", 4)
	text = find(4)[0].String()
	expect.That(t, strings.Contains(text, "4 records wait"), "%s", text)
	faults = faultsOf()
	expect.That(t, len(faults) == 1 && faults[0].Blocks() && strings.Contains(faults[0].Fix, "--entity-name features.retry-7s --add-config retention.ms=-1"), "with records that expire: %v", faults)
}

// S3-1: a topic of somebody else that has the name of a tier keeps no pipeline from starting.
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
