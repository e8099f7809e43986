package retrytopics_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// pipelineOn returns the configuration of a pipeline with topics and a group of its own, but for the source and the tiers. Its
// handler counts its calls.
func (b *broker) pipelineOn(name string, mode retrytopics.Order, calls *atomic.Int64, fails func(attempt int) bool) retrytopics.Config {
	cfg := b.config(func(_ context.Context, r *retrytopics.Record) (retrytopics.Result, error) {
		calls.Add(1)
		if fails(r.Attempt) && string(r.Key) != "before" {
			return retrytopics.Result{}, &classify.HTTPError{Status: 503}
		}
		return retrytopics.Result{Outputs: []*kgo.Record{{Topic: output, Key: r.Key, Value: []byte(name)}}}, nil
	})
	cfg.Group, cfg.Origin.Pipeline, cfg.DLQ = name, name, name+".dlq"
	cfg.Ordering.Mode, cfg.Ordering.StateTopic = mode, name+".state"
	return cfg
}

func always(int) bool        { return true }
func never(int) bool         { return false }
func first(attempt int) bool { return attempt == 1 }

// S3-1: two pipelines on one source that share their tiers leave each other's records alone: each record is retried by its own
// pipeline only, and neither purges what waits for the other.
func TestSharedTier_S3_1_recordsStayWithTheirPipeline(t *testing.T) {
	t.Parallel()
	for _, mode := range []retrytopics.Order{retrytopics.OrderNone, retrytopics.OrderLatestWins, retrytopics.OrderStrict} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			b := newBroker(t)
			const n = 20
			var calls [2]atomic.Int64
			engines := []*retrytopics.Engine{
				b.engine(b.pipelineOn("roads", mode, &calls[0], always)),
				b.engine(b.pipelineOn("parcels", mode, &calls[1], first)),
			}
			b.produce(&kgo.Record{Key: []byte("before"), Value: []byte("v")})
			for _, e := range engines { // one after the other: both have consumed before they share anything
				b.drain(e)
			}
			var before [2]int64
			for i := range calls {
				before[i] = calls[i].Load()
			}
			for i := range n {
				b.produce(&kgo.Record{Key: fmt.Append(nil, i), Value: []byte("v")})
			}
			var running sync.WaitGroup
			for _, e := range engines {
				running.Go(func() { b.drain(e) })
			}
			running.Wait()
			expect.Equal(t, len(b.read("roads.dlq")), n, "dead letters of roads")
			expect.Equal(t, len(b.read("parcels.dlq")), 0, "dead letters of parcels")
			if out := len(b.read(output)) - 2; out != n { // without the record before
				t.Errorf("%d outputs of parcels, want %d", out, n)
			}
			expect.Equal(t, calls[1].Load()-before[1], 2*n, "parcels made")
		})
	}
}

// S3-1: a pipeline that never ran is refused while the tiers hold another one's records, and takes none of them.
func TestSharedTier_S3_1_aNewcomerIsRefused(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	held := []policy.Tier{tier(time.Hour)}
	b.park(3, held, func(c *retrytopics.Config) {
		c.Group, c.Origin.Pipeline, c.DLQ, c.Ordering.StateTopic = "roads", "roads", "roads.dlq", "roads.state"
	})
	var calls atomic.Int64
	cfg := b.pipelineOn("parcels", retrytopics.OrderNone, &calls, never)
	cfg.Retries.Tiers = held
	err := b.engine(cfg).RunUntilEnd(t.Context())
	expect.That(t, errors.Is(err, retrytopics.ErrTopics) && strings.Contains(err.Error(), `pipeline "roads"`) && strings.Contains(err.Error(), "tier_prefix"), "got %v", err)
	if calls.Load() > 0 {
		t.Errorf("it made %d attempts", calls.Load())
	}
}

// S3-1: a topic that another pipeline names like a tier stops nobody, is not consumed by this one, and is not purged.
func TestSharedTier_S3_1_anothersTopicStopsNobody(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	others := tier(time.Hour)
	b.park(3, []policy.Tier{others}, func(c *retrytopics.Config) {
		c.Group, c.Origin.Pipeline, c.DLQ, c.Ordering.StateTopic = "roads", "roads", "roads.dlq", "roads.state"
	})
	var calls atomic.Int64
	parcels := b.pipelineOn("parcels", retrytopics.OrderLatestWins, &calls, never)
	for range 2 { // also when it starts again behind them
		e := b.engine(parcels)
		e.Hurry(50 * time.Millisecond)
		b.drain(e)
	}
	if calls.Load() != 3 {
		t.Errorf("%d attempts, want one for each record of the source", calls.Load())
	}
	starts := must.Get(kadm.NewClient(b.client).ListStartOffsets(t.Context(), others.Topic))(t)
	starts.Each(func(o kadm.ListedOffset) {
		expect.That(t, o.Offset <= 0, "partition %d of %s was purged up to %d", o.Partition, others.Topic, o.Offset)
	})
	expect.Equal(t, len(b.read(others.Topic)), 3, "records wait for roads")
}

// S3-1: a pipeline that gets another id still takes what it wrote under the former one.
func TestSharedTier_S3_1_aRenamedPipelineKeepsItsRecords(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	wait := []policy.Tier{tier(time.Second)}
	b.park(3, wait, func(c *retrytopics.Config) {
		c.Origin.Pipeline, c.Ordering.Mode = "roads", retrytopics.OrderLatestWins
	})
	cfg := b.config(failsFirst(t, 1))
	cfg.Retries.Tiers, cfg.Origin.Pipeline, cfg.Ordering.Mode = wait, "highways", retrytopics.OrderLatestWins
	ctx, cancel := context.WithTimeout(t.Context(), testrun.Patient(30*time.Second))
	defer cancel()
	must.Do(t, b.engine(cfg).RunUntilEnd(ctx))
	expect.Equal(t, len(b.read(output)), 3, "outputs")
}
