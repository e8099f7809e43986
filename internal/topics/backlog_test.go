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
		if got := lags(all); !reflect.DeepEqual(got, want) {
			t.Errorf("ends %d: %q, want %q", until, got, want)
		}
	}
}

// A topic that is not there is named, too.
func TestBacklogs_S4_8_namesTheMissingTopic(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), testrun.Patient(20*time.Second))
	defer cancel()
	_, cfg, client := cluster(t, "features", "features.retry-2s", "features.retry-60s")
	if all, err := Backlogs(ctx, kadm.NewClient(client), cfg, kafka.Stable); err == nil || !strings.Contains(err.Error(), "features.retry-8s: UNKNOWN") {
		t.Errorf("%v, %v", all, err)
	}
}
