package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/pkg/retrytopics/engine"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/switchback-geo/switchback/internal/testkit/eventually"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/statetopic"
)

// hashed copies the value to the output and sets a content hash.
func hashed(ctx context.Context, r *retrytopics.Record) (retrytopics.Result, error) {
	result, err := copied(ctx, r)
	result.ContentHash = idempotency.Of(r.Value).String()
	return result, err
}

// remembering returns an engine with a ledger and an order.
func (b *broker) remembering(h retrytopics.Handler) (*engine.Engine, *bytes.Buffer) {
	cfg := b.config(h)
	cfg.Ordering.Mode, cfg.Dedupe.Window = retrytopics.OrderLatestWins, time.Hour
	cfg.Timing.Shutdown = 2 * time.Second
	log := &bytes.Buffer{}
	cfg.Logger = slog.New(slog.NewTextHandler(log, nil))
	return b.engine(cfg), log
}

// remembered returns a broker and an engine with a ledger and an order that has delivered 30 events.
func remembered(t *testing.T, h retrytopics.Handler) (*broker, *engine.Engine, *bytes.Buffer) {
	t.Helper()
	b := newBroker(t)
	e, log := b.remembering(h)
	b.produce(valued(30, "a")...)
	b.drain(e)
	return b, e, log
}

// recreate deletes topics and creates them again, as an operator does.
func (b *broker) recreate(topics ...string) {
	b.t.Helper()
	b.administers(func(ctx context.Context, adm *kadm.Client) error {
		_, err := adm.DeleteTopics(ctx, topics...)
		return err
	})
	for _, topic := range topics {
		b.creates(topic, partitions)
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(b.addrs...)) // a client that knew the deleted topics would confuse them with the new ones
	must.That(b.t, err == nil, "%v", err)
	b.t.Cleanup(client.Close)
	b.client = client
}

func valued(n int, suffix string) (records []*kgo.Record) {
	for i := range n {
		records = append(records, &kgo.Record{Key: fmt.Appendf(nil, "k%d", i), Value: fmt.Appendf(nil, "k%d/%s", i, suffix)})
	}
	return records
}

// refusesMemory runs the engine, which must stop with ErrMemory and name each kind of mismatch.
func (b *broker) refusesMemory(e *engine.Engine, words ...string) {
	b.t.Helper()
	ctx := testrun.Context(b.t, time.Minute)
	err := e.Run(ctx)
	must.That(b.t, errors.Is(err, engine.ErrMemory), "got %v, want ErrMemory", err)
	for _, word := range words {
		expect.That(b.t, strings.Contains(err.Error(), word), "%q is missing in %v", word, err)
	}
}

// adopts checks that the plan names the mismatches, carries it out, and checks that nothing is left to adopt.
func (b *broker) adopts(e *engine.Engine, kinds ...retrytopics.MismatchKind) *engine.Adoption {
	b.t.Helper()
	ctx := testrun.Context(b.t, time.Minute)
	plan := must.Get(e.PlanAdoption(ctx))(b.t)
	var got []retrytopics.MismatchKind
	for _, m := range plan.Mismatches {
		got = append(got, m.Kind)
	}
	must.That(b.t, slices.Equal(got, kinds), "the plan finds %v, want %v", got, kinds)
	eventually.Until(ctx, b.t, "the group has no members left, and the memory is adopted", func() (bool, string) {
		_, err := e.Adopt(ctx)
		must.That(b.t, err == nil || errors.Is(err, engine.ErrRunning), "%v", err)
		return err == nil, fmt.Sprint(err)
	})
	left, err := e.PlanAdoption(ctx)
	must.That(b.t, err == nil && len(left.Mismatches) <= 0, "after the adoption: %+v, %v", left, err)
	return plan
}

func TestEngine_S4_14_aGroupWithoutCommitsGoesOnFromTheCheckpoint(t *testing.T) {
	b, e, log := remembered(t, copied) // no content hash: nothing is a duplicate
	b.expires("g")
	b.produce(valued(10, "b")...)
	b.drain(e)
	expect.Equal(t, len(b.read(output)), 40, "outputs")
	expect.That(t, strings.Contains(log.String(), "continues from the checkpoint"), "nothing is said of it:\n%s", log)
}

// Only the source may have been re-created, or the group's commits may have expired as well.
func TestEngine_S4_14_aReCreatedSourceIsAdopted(t *testing.T) {
	t.Parallel()
	for name, expired := range map[string]bool{"with its group": false, "without a group": true} {
		t.Run(name, func(t *testing.T) {
			b, e, _ := remembered(t, hashed)
			b.recreate(source)
			b.produce(valued(20, "a")...) // the same content: the ledger has forgotten it
			if expired {
				b.expires("g")
			} else {
				b.refusesMemory(e, "source topic features was deleted and re-created")
			}
			must.Equal(t, len(b.read(output)), 30, "outputs before the adoption")
			plan := b.adopts(e, retrytopics.MismatchSource)
			expect.That(t, plan.Forgotten == 30 && plan.Partitions == partitions, "the plan: %+v", plan)
			b.drain(e)
			expect.Equal(t, len(b.read(output)), 50, "outputs")
		})
	}
}

// An event of the former topic that waits in a tier is older than every event of the new topic, whatever their offsets.
func TestEngine_S3_1_whatWaitsIsOlderThanAReCreatedTopic(t *testing.T) {
	b := newBroker(t)
	outage := true
	e, _ := b.remembering(func(ctx context.Context, r *retrytopics.Record) (retrytopics.Result, error) {
		switch {
		case !outage || !strings.HasPrefix(string(r.Key), "w"):
			return hashed(ctx, r)
		case r.Attempt > 1: // it still waits when the run ends, however slow the machine is
			<-ctx.Done()
			return retrytopics.Result{}, ctx.Err()
		}
		return retrytopics.Result{}, unavailable
	})
	b.produce(append(valued(30, "a"), &kgo.Record{Key: []byte("w0"), Value: []byte("old")}, &kgo.Record{Key: []byte("w1"), Value: []byte("old")})...)
	ctx, end := b.runs(e)
	b.until(ctx, func() bool { return len(b.read(output)) == 30 && len(b.read(source+".retry-100ms")) >= 2 })
	end()
	b.recreate(source)
	outage = false
	plan := b.adopts(e, retrytopics.MismatchSource)
	expect.That(t, plan.Kept == 2 && plan.Waiting >= 2, "the plan: %+v", plan)
	b.produce(&kgo.Record{Key: []byte("w0"), Value: []byte("new")})
	b.drain(e)
	last := map[string]string{}
	for _, r := range b.read(output) {
		last[string(r.Key)] = string(r.Value)
	}
	expect.That(t, last["w0"] == "new" && last["w1"] == "old", "w0 ends as %q, w1 as %q", last["w0"], last["w1"])
}

func TestEngine_S4_14_aLostMemoryIsNoticedAndAdopted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		topic string
		kind  retrytopics.MismatchKind
		word  string
	}{
		"state":  {source + ".state", retrytopics.MismatchState, "has lost the checkpoint"},
		"ledger": {source + ".ledger", retrytopics.MismatchLedger, "ledger topic features.ledger was deleted"},
	} {
		t.Run(name, func(t *testing.T) {
			b, _, _ := remembered(t, copied)
			b.recreate(c.topic)
			b.produce(valued(10, "b")...)
			e, _ := b.remembering(hashed)
			b.refusesMemory(e, c.word)
			b.adopts(e, c.kind)
			b.drain(e)
			expect.Equal(t, len(b.read(output)), 40, "outputs")
		})
	}
}

// Adopting a lost memory, once or twice, does not start a new generation: the positions of the source topic stay valid.
func TestEngine_S4_14_aLostMemoryLeavesTheSourceWhatItIs(t *testing.T) {
	b, _, _ := remembered(t, copied)
	for n := 1; n <= 2; n++ {
		b.recreate(source + ".state")
		e, _ := b.remembering(hashed)
		b.adopts(e, retrytopics.MismatchState)
		b.produce(valued(10, fmt.Sprint(n))...)
		b.drain(e)
		found := 0
		for _, r := range b.read(source + ".state") {
			cp, ok, err := statetopic.ParseCheckpoint(r)
			must.That(t, err == nil && (!ok || cp.Generation == n && cp.First() == 0), "%+v, %v", cp, err)
			if ok {
				found++
			}
		}
		must.That(t, found != 0, "no checkpoint")
	}
	expect.Equal(t, len(b.read(output)), 50, "outputs")
}

func TestEngine_S4_14_anotherGroupTakesOverOnlyWhenAsked(t *testing.T) {
	b, _, _ := remembered(t, copied)
	cfg := b.config(copied)
	cfg.Group, cfg.Ordering.Mode, cfg.Dedupe.Window = "renamed", retrytopics.OrderLatestWins, time.Hour
	renamed := b.engine(cfg)
	b.refusesMemory(renamed, "memory of group g, not of group renamed")
	b.adopts(renamed, retrytopics.MismatchGroup)
	b.produce(valued(10, "b")...)
	b.drain(renamed)
	expect.Equal(t, len(b.read(output)), 40, "outputs")
}

func TestEngine_S4_14_adoptionIsRefusedWhileAnInstanceRuns(t *testing.T) {
	b := newBroker(t)
	e, _ := b.remembering(copied)
	ctx, end := b.runs(e)
	b.until(ctx, func() bool { return e.Stats().Joined })
	_, err := e.Adopt(ctx)
	expect.That(t, errors.Is(err, engine.ErrRunning) && strings.Contains(err.Error(), "one on "), "got %v, want ErrRunning and the name of the instance", err)
	end()
}

// A running engine notices that its topic was re-created.
func TestEngine_S4_14_aSourceReCreatedUnderneathStopsTheEngine(t *testing.T) {
	b := newBroker(t)
	e, _ := b.remembering(copied)
	b.produce(valued(30, "a")...)
	ctx := testrun.Context(t, time.Minute)
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	b.until(ctx, func() bool { return len(b.read(output)) == 30 })
	b.recreate(source)
	err := <-ended
	expect.That(t, errors.Is(err, engine.ErrMemory), "got %v, want ErrMemory", err)
}

// A failed attempt may have written outside Kafka. Therefore a later event with the current content is attempted, and
// closed as a duplicate only then.
func TestEngine_S0_6_aDuplicateThatFailsIsTriedAgain(t *testing.T) {
	b := newBroker(t)
	var mu sync.Mutex
	tried := map[string]int{}
	e, _ := b.remembering(func(ctx context.Context, r *retrytopics.Record) (retrytopics.Result, error) {
		result, err := hashed(ctx, r)
		mu.Lock()
		defer mu.Unlock()
		at := r.Source.String()
		if tried[at]++; r.Source.Offset > 0 && tried[at] == 1 {
			return result, unavailable
		}
		return result, err
	})
	b.produce(&kgo.Record{Key: []byte("k"), Value: []byte("v")}, &kgo.Record{Key: []byte("k"), Value: []byte("v")})
	b.drain(e)
	for at, n := range tried {
		expect.Equal(t, 1+int(at[len(at)-1]-'0'), n, at, "was tried")
	}
	got := len(b.read(output))
	expect.That(t, got == 1 && len(tried) == 2, "%d outputs of %d events, want 1 of 2", got, len(tried))
}

// A delete that comes late is superseded by the event after it. What came before the delete stays superseded, whatever
// its version.
func TestEngine_S0_6_aSupersededDeleteKeepsWhatLayBeforeIt(t *testing.T) {
	b := newBroker(t)
	var mu sync.Mutex
	tried := map[int64]int{}
	cfg := b.config(func(ctx context.Context, r *retrytopics.Record) (retrytopics.Result, error) {
		result, err := copied(ctx, r)
		result.Version = new(1000 - 10*r.Source.Offset) // each lower than the one before
		mu.Lock()
		defer mu.Unlock()
		if tried[r.Source.Offset]++; tried[r.Source.Offset] == 1 && r.Source.Offset < 2 {
			return result, unavailable
		}
		if r.Source.Offset == 0 && tried[1] < 2 { // after the delete
			return result, unavailable
		}
		return result, err
	})
	cfg.Ordering.Mode, cfg.Ordering.Versioned = retrytopics.OrderLatestWins, true
	b.produce(&kgo.Record{Key: []byte("k"), Value: []byte("old")}, &kgo.Record{Key: []byte("k")}, &kgo.Record{Key: []byte("k"), Value: []byte("new")})
	b.drain(b.engine(cfg))
	var got []string
	for _, r := range b.read(output) {
		got = append(got, string(r.Value))
	}
	expect.That(t, slices.Equal(got, []string{"new"}), "the output has %q, want only what came after the delete", got)
}

// S4-14: a bounded run that finds nothing left to do has still read its memory before it ends, however long the group
// takes.
func TestRunUntilEnd_S4_14_endsNotBeforeTheMemoryIsRead(t *testing.T) {
	b, cluster := newBrokerOf(t)
	e, _ := b.remembering(hashed)
	b.produce(valued(30, "a")...)
	b.drain(e)
	b.recreate(source + ".ledger")
	cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.JoinGroup}, TopLevel: true, Err: kerr.CoordinatorLoadInProgress, Count: 3})
	ctx := testrun.Context(t, time.Minute)
	err := e.RunUntilEnd(ctx)
	expect.That(t, errors.Is(err, engine.ErrMemory), "got %v, want ErrMemory", err)
}
