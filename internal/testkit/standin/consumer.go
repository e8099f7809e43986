package standin

import (
	"context"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// Consume calls fn for each committed record of the topic features until the test ends.
func Consume(t testing.TB, brokers []string, fn func(context.Context, *kgo.Client, *kgo.Record)) {
	t.Helper()
	client := must.Get(kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.ConsumeTopics("features"),
		kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.FetchMaxWait(50*time.Millisecond),
		kgo.RecordPartitioner(kgo.ManualPartitioner())))(t)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			for _, r := range client.PollFetches(ctx).Records() {
				fn(ctx, client, r)
			}
		}
	}()
	t.Cleanup(func() { cancel(); <-done; client.Close() })
}

// Close writes the status of a replayed dead letter to features.dlq-status.
func Close(ctx context.Context, t testing.TB, client *kgo.Client, r *kgo.Record, to deadletters.Status, at time.Time) {
	t.Helper()
	change := deadletters.Change{To: to, Reason: "delivered", By: "consumer c", At: at}
	if to == deadletters.Pending {
		change.Reason = "failed again: geometry_invalid"
	}
	control, err := header.ParseControl(r.Headers)
	if err != nil {
		t.Error(err)
		return
	}
	state, err := deadletters.Closing(r.Key, control, change)
	if err != nil {
		t.Error(err)
		return
	}
	if err := client.ProduceSync(ctx, state.Record("features.dlq-status", r.Partition)).FirstErr(); err != nil && ctx.Err() == nil {
		t.Error(err)
	}
}
