package engine_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/engine"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

func TestEngine_atLeastOnceDeliversWithoutTransactions(t *testing.T) {
	b := newBroker(t)
	b.produce(stream(20, 300)...)
	cfg := b.ordered(flaky(0.2), retrytopics.OrderStrict)
	cfg.Delivery = retrytopics.AtLeastOnce
	b.drain(b.engine(cfg))
	b.inOrder(300)
}

// tally counts committed events by outcome and attempt.
type tally struct {
	mu sync.Mutex
	n  map[policy.Outcome]int
	// second counts the events of attempts beyond the first.
	second int
}

func (c *tally) add(events []*retrytopics.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = map[policy.Outcome]int{}
	}
	for _, e := range events {
		c.n[e.Decision.Outcome]++
		if e.Record.Attempt > 1 {
			c.second++
		}
	}
}

func (c *tally) of(o policy.Outcome) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n[o]
}

// The failure during which Pause is called does not count, and neither do those of attempts that run at that moment.
// Successful attempts are committed. Replacing the instance changes nothing of this.
func TestEngine_S0_9_failuresWhilePausedSpendNothingAndSuccessesAreCommitted(t *testing.T) {
	b := newBroker(t)
	b.produce(stream(20, 400)...)
	var fixed atomic.Bool
	var met sync.Map // keys; the first event of each succeeds, so that there is something to commit
	bad := errors.New("waiting does not fix this")
	cfg := b.ordered(func(ctx context.Context, r *retrytopics.Record) (retrytopics.Result, error) {
		key := string(r.Key)
		if _, again := met.LoadOrStore(key, true); again && !fixed.Load() && (key == "k3" || key == "k7") {
			return retrytopics.Result{}, map[bool]error{true: bad, false: unavailable}[key == "k3"]
		}
		return copied(ctx, r)
	}, retrytopics.OrderStrict)
	count := &tally{}
	cfg.Hooks.OnCommit = count.add
	var e *engine.Engine
	var failures atomic.Int64
	cfg.Hooks.OnFailure = func(event *retrytopics.Event) {
		failures.Add(1)
		e.Pause("stopped by a gate: " + string(event.Failure.Code))
	}
	e = b.engine(cfg)
	ctx, stop := b.runs(e)
	b.until(ctx, func() bool { return failures.Load() > 0 && count.of(policy.OutcomeDelivered) > 0 })
	stop()
	got := count.n
	expect.That(t, len(got) == 1 && count.second == 0, "outcomes while paused: %v", got)
	fixed.Store(true)
	after := &tally{}
	cfg.Hooks.OnCommit = after.add
	b.drain(b.engine(cfg))
	sum := count.of(policy.OutcomeDelivered) + after.of(policy.OutcomeDelivered)
	expect.That(t, sum == 400 && len(after.n) == 1 && after.second == 0, "%d deliveries in all; after the restart %v", sum, after.n)
	b.inOrder(400)
	expect.Equal(t, len(b.read(source+".dlq")), 0, "dead letters")
}

// If the permission to write to a topic is removed, the engine stops within three attempts and names the operation and
// the topic. No handler runs again for a finished record, and the engine continues by itself when the permission is
// back.
func TestEngine_S4_15_aMissingPermissionBlocksAndPasses(t *testing.T) {
	b, cluster := newBrokerOf(t)
	var calls sync.Map
	var most atomic.Int64
	cfg := b.ordered(func(ctx context.Context, r *retrytopics.Record) (retrytopics.Result, error) {
		n, _ := calls.LoadOrStore(string(r.Value), new(atomic.Int64))
		if v := n.(*atomic.Int64).Add(1); v > most.Load() {
			most.Store(v)
		}
		return copied(ctx, r)
	}, retrytopics.OrderLatestWins)
	cfg.Dedupe.Window = time.Hour
	cfg.Client.Principal = "User:pipeline"
	var aborted atomic.Int64
	var e *engine.Engine
	cfg.Hooks.OnTransaction = func(_ time.Duration, committed bool) {
		if _, yes := e.Blocked(); !committed && !yes {
			aborted.Add(1)
		}
	}
	e = b.engine(cfg)
	ctx, end := b.runs(e)
	b.produce(events(20)...)
	b.until(ctx, func() bool { return len(b.read(output)) == 20 })
	denied := fails(cluster, kmsg.Produce, output, kerr.TopicAuthorizationFailed)
	b.produce(numbered("more", 500)...)
	b.until(ctx, func() bool { _, yes := e.Blocked(); return yes })
	blocked, _ := e.Blocked()
	for _, word := range []string{"User:pipeline", "Write", "topic " + output} {
		expect.That(t, strings.Contains(blocked.Reason, word), "the reason does not contain %q: %s", word, blocked.Reason)
	}
	expect.Equal(t, aborted.Load(), 3, "aborted transactions until the engine was blocked")
	denied.Remove()
	b.until(ctx, func() bool { return len(b.read(output)) == 520 })
	_, yes := e.Blocked()
	expect.That(t, !yes, "it commits and is blocked")
	expect.That(t, most.Load() == 1, "a handler ran %d times for one record", most.Load())
	end()
}

// A permission that was missing from the start ends a run at once: a bounded run does not wait for it, and neither does
// an engine that has never committed.
func TestEngine_S4_15_aPermissionThatWasNeverThereEndsTheRun(t *testing.T) {
	b, cluster := newBrokerOf(t)
	e := b.engine(b.config(copied))
	b.produce(events(5)...)
	cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.InitProducerID}, TopLevel: true, Err: kerr.TransactionalIDAuthorizationFailed, Count: -1})
	err := e.Run(t.Context())
	expect.That(t, err != nil && strings.Contains(err.Error(), "Write transactional id g-one"), "error %v", err)
}

// An engine that has handled records and may not write the results keeps waiting: after a restart the handlers would run
// again. A bounded run ends.
func TestEngine_S4_15_resultsThatNeverCouldBeWrittenAreKept(t *testing.T) {
	b, cluster := newBrokerOf(t)
	var calls atomic.Int64
	e := b.engine(b.config(func(ctx context.Context, r *retrytopics.Record) (retrytopics.Result, error) {
		calls.Add(1)
		return copied(ctx, r)
	}))
	e.Hurry(50 * time.Millisecond)
	denied := fails(cluster, kmsg.Produce, output, kerr.TopicAuthorizationFailed)
	ctx, end := b.runs(e)
	b.produce(events(20)...)
	b.until(ctx, func() bool { return denied.Hits() > 5 }) // a new session has tried as well
	denied.Remove()
	b.until(ctx, func() bool { return len(b.read(output)) == 20 })
	expect.Equal(t, calls.Load(), 20, "calls for 20 records")
	end()
}

func numbered(prefix string, n int) []*kgo.Record {
	records := events(n)
	for _, r := range records {
		r.Key = append([]byte(prefix), r.Key...)
		r.Value = append([]byte(prefix), r.Value...)
	}
	return records
}

// If the group refuses the offsets, transactions abort although no record was refused. One such abort may be a
// rebalance. Several in a row are a loop: the engine pauses in between and reports a reason.
func TestEngine_S0_4_offsetsThatTheGroupRefusesBlock(t *testing.T) {
	b, cluster := newBrokerOf(t)
	cfg := b.ordered(copied, retrytopics.OrderLatestWins)
	var aborted atomic.Int64
	cfg.Hooks.OnTransaction = func(_ time.Duration, committed bool) {
		if !committed {
			aborted.Add(1)
		}
	}
	e := b.engine(cfg)
	ctx, end := b.runs(e)
	b.produce(events(20)...)
	b.until(ctx, func() bool { return len(b.read(output)) == 20 })
	aborted.Store(0)
	refused := fails(cluster, kmsg.TxnOffsetCommit, "", kerr.IllegalGeneration)
	b.produce(numbered("more", 100)...)
	b.until(ctx, func() bool { _, yes := e.Blocked(); return yes })
	n := aborted.Load()
	expect.That(t, n <= 4, "%d aborted transactions until the engine was blocked", n)
	blocked, _ := e.Blocked()
	expect.That(t, strings.Contains(blocked.Reason, "group g"), "the reason does not name the group: %s", blocked.Reason)
	refused.Remove()
	b.until(ctx, func() bool { return len(b.read(output)) == 120 })
	end()
}

// afterDeniedRead runs an engine until a missing Read on its source has blocked it, grants the permission again, and
// calls then.
func afterDeniedRead(t *testing.T, then func(context.Context, *broker, *engine.Engine)) {
	t.Helper()
	b, cluster := newBrokerOf(t)
	e := b.engine(b.config(copied))
	e.Hurry(50 * time.Millisecond)
	ctx, end := b.runs(e)
	b.produce(numbered("first", 1)...)
	b.until(ctx, func() bool { return len(b.read(output)) == 1 })
	denied := fails(cluster, kmsg.Fetch, source, kerr.TopicAuthorizationFailed)
	b.until(ctx, func() bool { _, yes := e.Blocked(); return yes })
	denied.Remove()
	then(ctx, b, e)
	end()
}

// S4-15: an engine that was blocked by a missing Read continues once it may read again, even if there is no record to
// commit.
func TestEngine_S4_15_aDeniedReadPassesWithoutRecords(t *testing.T) {
	afterDeniedRead(t, func(ctx context.Context, b *broker, e *engine.Engine) {
		b.until(ctx, func() bool { ready, _ := e.Ready(); return ready })
	})
}

// S4-15: an engine that may not read its source during several sessions is blocked although it has nothing to commit. It
// continues by itself once the permission is back.
func TestEngine_S4_15_aDeniedReadPassesWithNothingToCommit(t *testing.T) {
	afterDeniedRead(t, func(ctx context.Context, b *broker, e *engine.Engine) {
		b.produce(numbered("second", 1)...)
		b.until(ctx, func() bool { return len(b.read(output)) == 2 })
		blocked, yes := e.Blocked()
		expect.That(t, !yes, "it commits and is blocked: %+v", blocked)
	})
}

// S4-15: a session that ends while handlers run lets them finish. The next session uses their results, so a service is
// not called twice because a topic could not be read for a moment.
func TestEngine_S4_15_aBrokenSessionLetsRunningAttemptsFinish(t *testing.T) {
	b, cluster := newBrokerOf(t)
	var asked atomic.Int64
	refused := make(chan struct{})
	cfg := b.config(func(ctx context.Context, r *retrytopics.Record) (retrytopics.Result, error) {
		if asked.Add(1) == 1 {
			return copied(ctx, r) // an engine that has never committed ends when it may not read
		}
		<-refused
		select {
		case <-time.After(100 * time.Millisecond): // the time that the service takes to answer
			return copied(ctx, r)
		case <-ctx.Done():
			return retrytopics.Result{}, ctx.Err()
		}
	})
	e := b.engine(cfg)
	ctx, end := b.runs(e)
	b.produce(numbered("first", 1)...)
	b.until(ctx, func() bool { return len(b.read(output)) == 1 })
	b.produce(numbered("second", 1)...)
	b.until(ctx, func() bool { return asked.Load() == 2 })
	denied := fails(cluster, kmsg.Fetch, source, kerr.TopicAuthorizationFailed)
	b.until(ctx, func() bool { return denied.Hits() > 0 })
	close(refused)
	denied.Remove()
	b.until(ctx, func() bool { return len(b.read(output)) == 2 })
	end()
	expect.Equal(t, asked.Load(), 2, "the handler was asked")
}
