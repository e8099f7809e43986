package engine_test

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

	"github.com/switchback-geo/switchback/internal/testkit/eventually"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/engine"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// failsFirst returns a handler that fails the first n attempts of each record and counts early attempts.
func failsFirst(t *testing.T, n int) retrytopics.Handler {
	return func(_ context.Context, r *retrytopics.Record) (retrytopics.Result, error) {
		expect.That(t, !time.Now().Before(r.Control.Due), "attempt %d of %s came before %v", r.Attempt, r.Source, r.Control.Due)
		if r.Attempt <= n {
			return retrytopics.Result{}, &classify.HTTPError{Status: 503}
		}
		return retrytopics.Result{Outputs: []*kgo.Record{{Topic: output, Key: r.Key, Value: r.Value}}}, nil
	}
}

// park puts n records into the first tier of a list of tiers and stops the engine.
func (b *broker) park(n int, tiers []policy.Tier, change ...func(*retrytopics.Config)) {
	b.t.Helper()
	cfg := b.config(failsFirst(b.t, 1))
	cfg.Retries.Tiers = tiers
	for _, c := range change {
		c(&cfg)
	}
	var retried atomic.Int64
	ctx, stop := context.WithTimeout(b.t.Context(), testrun.Patient(30*time.Second))
	defer stop()
	cfg.Hooks.OnCommit = func(events []*retrytopics.Event) {
		for _, e := range events {
			if e.Decision.Outcome == policy.OutcomeRetried && retried.Add(1) == int64(n) {
				stop()
			}
		}
	}
	e := b.engine(cfg)
	for i := range n {
		b.produce(&kgo.Record{Key: []byte{byte(i)}, Value: []byte("v")})
	}
	must.Do(b.t, e.Run(ctx))
}

func tier(delay time.Duration) policy.Tier {
	return policy.Tier{Topic: policy.TierTopic(source+".retry-", delay), Delay: delay}
}

// S3-1: a record that waits in a former tier, or in a tier that was added again, is delivered once, when it is due.
func TestFormerTier_S3_1_removedAndAddedAgain(t *testing.T) {
	b := newBroker(t)
	const n = 20
	b.park(n, []policy.Tier{tier(600 * time.Millisecond)})
	other := b.config(failsFirst(t, 2)) // fails once more, so the record moves to a configured tier
	other.Retries.Tiers = []policy.Tier{tier(300 * time.Millisecond)}
	e := b.engine(other)
	b.drain(e)
	must.Equal(t, len(b.read(output)), n, "outputs")
	for _, s := range e.Stats().Tiers {
		expect.That(t, s.Waiting == 0 && s.Former == (s.Delay == 600*time.Millisecond), "%+v", s)
	}
	b.park(n, []policy.Tier{tier(600 * time.Millisecond)})
	b.drain(b.engine(b.config(failsFirst(t, 1))))
	must.Equal(t, len(b.read(output)), 2*n, "outputs")
}

// S0-4: a running instance finds a tier that another instance created meanwhile.
func TestFormerTier_S0_4_thatAppearsWhileItRuns(t *testing.T) {
	b := newBroker(t)
	e := b.engine(b.config(failsFirst(t, 1)))
	e.Hurry(50 * time.Millisecond)
	ctx, end := b.runs(e)
	b.until(ctx, func() bool { ready, _ := e.Ready(); return ready })
	late := tier(time.Second)
	b.creates(late.Topic, partitions)
	b.produce(waitingIn(late.Topic))
	b.until(ctx, func() bool { return len(b.read(output)) == 1 })
	end()
}

// S0-4: a bounded run also finishes what waits in a tier that appeared while it ran. It looks for one before it ends, whatever
// the housekeeping does.
func TestFormerTier_S0_4_thatAppearsDuringABoundedRun(t *testing.T) {
	b := newBroker(t)
	began, released := make(chan struct{}), make(chan struct{})
	var once sync.Once
	e := b.engine(b.config(func(ctx context.Context, r *retrytopics.Record) (retrytopics.Result, error) {
		once.Do(func() { close(began) })
		<-released
		return copied(ctx, r)
	}))
	e.PurgeEvery(time.Hour)
	b.produce(&kgo.Record{Key: []byte("a"), Value: []byte("v")})
	ended := make(chan error, 1)
	go func() { ended <- e.RunUntilEnd(testrun.Context(t, time.Minute)) }()
	<-began
	late := tier(time.Second)
	b.creates(late.Topic, partitions)
	b.produce(waitingIn(late.Topic))
	close(released)
	must.Do(t, <-ended)
	expect.Equal(t, len(b.read(output)), 2, "outputs")
}

// waitingIn returns a due record in a tier.
func waitingIn(topic string) *kgo.Record {
	return &kgo.Record{Topic: topic, Key: []byte("k"), Value: []byte("v"), Headers: []kgo.RecordHeader{
		{Key: header.KeyAttempt, Value: []byte("1")}, {Key: header.KeySource, Value: []byte(source + "/0/0")},
		{Key: header.KeyDue, Value: []byte(header.FormatTime(time.Now()))}, {Key: header.KeyPipeline, Value: []byte("g")},
	}}
}

// S3-1: records of another pipeline in partitions that the source does not have stop no engine, even if the group has
// commits in the topic. The engine commits where it passes over them.
func TestFormerTier_S3_1_anothersRecordsBeyondTheSource(t *testing.T) {
	b := newBroker(t)
	former := tier(4 * time.Second)
	b.creates(former.Topic, partitions+2)
	b.byPartition()
	for p := range int32(partitions + 2) {
		b.produce(&kgo.Record{Topic: former.Topic, Partition: p, Value: []byte("v"), Headers: []kgo.RecordHeader{{Key: header.KeyPipeline, Value: []byte("roads")}}})
	}
	b.produce(&kgo.Record{Key: []byte("k"), Value: []byte("v")})
	e := b.engine(b.config(failsFirst(t, 0)))
	for range 2 { // once more after a restart behind them
		b.drain(e)
	}
	committed, err := kadm.NewClient(b.client).FetchOffsets(t.Context(), b.config(nil).Group)
	expect.That(t, err == nil && len(committed[former.Topic]) != 0, "the group has committed nothing in %s, so this tests nothing: %v", former.Topic, err)
	expect.Equal(t, len(b.read(former.Topic)), partitions+2, "records wait for roads")
}

// S0-4: records of this pipeline in partitions that the source does not have are refused. The error names the command
// that repairs it.
func TestFormerTier_S0_4_refused(t *testing.T) {
	b := newBroker(t)
	former := tier(4 * time.Second)
	b.creates(former.Topic, partitions+2)
	e := b.engine(b.config(failsFirst(t, 0)))
	b.produce(&kgo.Record{Topic: former.Topic, Key: []byte("k"), Value: []byte("v")})
	b.drain(e) // the group consumes the topic, so the topic is its own
	b.byPartition()
	b.produce(&kgo.Record{Topic: former.Topic, Partition: partitions + 1, Value: []byte("v")})
	err := e.RunUntilEnd(t.Context())
	expect.That(t, errors.Is(err, engine.ErrTopics) && strings.Contains(err.Error(), "--alter --topic features --partitions 5") && !strings.Contains(err.Error(), "--delete"), "got %v", err)
}

// S3-1: a second pipeline with the group of the first one is refused, and the first one continues.
func TestGroup_S3_1_isThatOfOnePipeline(t *testing.T) {
	b := newBroker(t)
	ctx := testrun.Context(b.t, 60*time.Second)
	var delivered atomic.Int64
	cfg := b.config(failsFirst(t, 0))
	cfg.Hooks.OnCommit = func(events []*retrytopics.Event) { delivered.Add(int64(len(events))) }
	first := b.engine(cfg)
	ended := make(chan error, 1)
	running, end := context.WithCancel(ctx)
	go func() { ended <- first.Run(running) }()
	b.produce(&kgo.Record{Key: []byte("a"), Value: []byte("v")})
	eventually.Until(ctx, t, "the first record", func() (bool, string) { n := delivered.Load(); return n == 1, fmt.Sprint(n) })

	b.creates("parcels", partitions)
	other := b.config(failsFirst(t, 0))
	other.Source, other.Membership.Instance, other.DLQ = "parcels", "two", ""
	other.Retries.Tiers = []policy.Tier{{Topic: "parcels.retry-1s", Delay: time.Second}}
	err := b.engine(other).Run(ctx)
	must.That(t, errors.Is(err, engine.ErrGroup), "%v, want ErrGroup", err)
	for _, want := range []string{"group g", "do not consume parcels", "one on", "features", "source.group"} {
		expect.That(t, strings.Contains(err.Error(), want), "%q is not in: %v", want, err)
	}

	b.produce(&kgo.Record{Key: []byte("b"), Value: []byte("v")})
	eventually.Until(ctx, t, "the record after the refusal", func() (bool, string) { n := delivered.Load(); return n == 2, fmt.Sprint(n) })
	end()
	expect.Do(t, <-ended)
}

// pipelineOn returns the configuration of a pipeline with its own topics and group; only source and tiers are shared.
// Its handler counts its calls.
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

// S3-1: two pipelines on one source that share their tiers leave each other's records alone. Only the own pipeline
// retries a record, and neither purges what waits for the other.
func TestSharedTier_S3_1_recordsStayWithTheirPipeline(t *testing.T) {
	t.Parallel()
	for _, mode := range []retrytopics.Order{retrytopics.OrderNone, retrytopics.OrderLatestWins, retrytopics.OrderStrict} {
		t.Run(string(mode), func(t *testing.T) {
			b := newBroker(t)
			const n = 20
			var calls [2]atomic.Int64
			engines := []*engine.Engine{
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
			if out := len(b.read(output)) - 2; out != n { // without the record from before
				t.Errorf("%d outputs of parcels, want %d", out, n)
			}
			expect.Equal(t, calls[1].Load()-before[1], 2*n, "parcels made")
		})
	}
}

// S3-1: a pipeline that never ran is refused while the tiers hold another pipeline's records, and processes none of
// them.
func TestSharedTier_S3_1_aNewcomerIsRefused(t *testing.T) {
	b := newBroker(t)
	held := []policy.Tier{tier(time.Hour)}
	b.park(3, held, func(c *retrytopics.Config) {
		c.Group, c.Origin.Pipeline, c.DLQ, c.Ordering.StateTopic = "roads", "roads", "roads.dlq", "roads.state"
	})
	var calls atomic.Int64
	cfg := b.pipelineOn("parcels", retrytopics.OrderNone, &calls, never)
	cfg.Retries.Tiers = held
	err := b.engine(cfg).RunUntilEnd(t.Context())
	expect.That(t, errors.Is(err, engine.ErrTopics) && strings.Contains(err.Error(), `pipeline "roads"`) && strings.Contains(err.Error(), "tier_prefix"), "got %v", err)
	expect.That(t, calls.Load() == 0, "it made %d attempts", calls.Load())
}

// S3-1: a topic of another pipeline that is named like a tier stops nothing. This pipeline neither consumes nor purges
// it.
func TestSharedTier_S3_1_anothersTopicStopsNobody(t *testing.T) {
	b := newBroker(t)
	others := tier(time.Hour)
	b.park(3, []policy.Tier{others}, func(c *retrytopics.Config) {
		c.Group, c.Origin.Pipeline, c.DLQ, c.Ordering.StateTopic = "roads", "roads", "roads.dlq", "roads.state"
	})
	var calls atomic.Int64
	parcels := b.pipelineOn("parcels", retrytopics.OrderLatestWins, &calls, never)
	for range 2 { // once more after a restart behind them
		e := b.engine(parcels)
		e.Hurry(50 * time.Millisecond)
		b.drain(e)
	}
	expect.That(t, calls.Load() == 3, "%d attempts, want one for each record of the source", calls.Load())
	starts := must.Get(kadm.NewClient(b.client).ListStartOffsets(t.Context(), others.Topic))(t)
	starts.Each(func(o kadm.ListedOffset) {
		expect.That(t, o.Offset <= 0, "partition %d of %s was purged up to %d", o.Partition, others.Topic, o.Offset)
	})
	expect.Equal(t, len(b.read(others.Topic)), 3, "records wait for roads")
}

// S3-1: a pipeline whose ID was changed still processes the records that it wrote under its former ID.
func TestSharedTier_S3_1_aRenamedPipelineKeepsItsRecords(t *testing.T) {
	b := newBroker(t)
	wait := []policy.Tier{tier(time.Second)}
	b.park(3, wait, func(c *retrytopics.Config) { c.Origin.Pipeline, c.Ordering.Mode = "roads", retrytopics.OrderLatestWins })
	cfg := b.config(failsFirst(t, 1))
	cfg.Retries.Tiers, cfg.Origin.Pipeline, cfg.Ordering.Mode = wait, "highways", retrytopics.OrderLatestWins
	ctx := testrun.Context(t, 30*time.Second)
	must.Do(t, b.engine(cfg).RunUntilEnd(ctx))
	expect.Equal(t, len(b.read(output)), 3, "outputs")
}
