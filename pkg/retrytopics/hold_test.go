package retrytopics_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// outage is a dependency behind a breaker. A call that finds it down opens the breaker for the cooldown. It is up again after four
// calls, once the test has seen records held.
type outage struct {
	mu       sync.Mutex
	cooldown time.Duration
	seen     bool      // the test has seen records held
	open     time.Time // no call before
	calls    int       // that reached the dependency while it was down
}

func (o *outage) handle(ctx context.Context, r *retrytopics.Record) (retrytopics.Result, error) {
	o.mu.Lock()
	now := time.Now()
	down := o.calls < 4 || !o.seen
	refused := now.Before(o.open)
	if down && !refused {
		o.calls++
		o.open = now.Add(o.cooldown)
	}
	at := o.open
	o.mu.Unlock()
	if down || refused {
		return retrytopics.Result{}, &retrytopics.UnavailableError{Dependency: "places", RetryAt: at}
	}
	return copied(ctx, r)
}

func TestEngine_outageSpendsNoAttemptLeavesTheDLQEmptyAndDrainsInOrder(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	b.produce(stream(20, 400)...)
	o := &outage{cooldown: 300 * time.Millisecond}
	cfg := b.ordered(o.handle, retrytopics.OrderStrict)
	cfg.Limits.HeldRecords = 200
	var most retrytopics.Stats
	var engine *retrytopics.Engine
	outcomes := map[string]int{}
	cfg.Hooks.OnCommit = func(es []*retrytopics.Event) {
		for _, e := range es {
			outcomes[fmt.Sprint(e.Decision.Outcome, " attempt ", e.Record.Attempt)]++
		}
	}
	engine = b.engine(cfg)
	watch, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		for tick := time.NewTicker(20 * time.Millisecond); watch.Err() == nil; <-tick.C {
			if s := engine.Stats(); len(s.Held) > 0 && (len(most.Held) == 0 || s.Held[0].Records > most.Held[0].Records) {
				most = s
				o.mu.Lock()
				o.seen = true
				o.mu.Unlock()
			}
		}
	})
	b.drain(engine)
	stop()
	wg.Wait()
	expect.Equal(t, fmt.Sprint(outcomes), "map[delivered attempt 1:400]", "outcomes")
	expect.That(t, len(most.Held) == 1 && most.Held[0].Dependency == "places" && most.Held[0].Records != 0, "held %+v", most.Held)
	b.inOrder(400)
}

func TestEngine_atLeastOnceDeliversWithoutTransactions(t *testing.T) {
	t.Parallel()
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

// The failure that holds the engine, and those of attempts that run at that moment, count for nothing; what succeeds
// meanwhile is committed. Nothing of it changes when the instance is replaced.
func TestEngine_S0_9_failuresWhileHeldSpendNothingAndSuccessesAreCommitted(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	b.produce(stream(20, 400)...)
	var fixed atomic.Bool
	var met sync.Map // keys; the first event of each succeeds, so that there is something to commit
	bad := errors.New("nobody fixes this by waiting")
	cfg := b.ordered(func(ctx context.Context, r *retrytopics.Record) (retrytopics.Result, error) {
		key := string(r.Key)
		if _, again := met.LoadOrStore(key, true); again && !fixed.Load() && (key == "k3" || key == "k7") {
			return retrytopics.Result{}, map[bool]error{true: bad, false: unavailable}[key == "k3"]
		}
		return copied(ctx, r)
	}, retrytopics.OrderStrict)
	count := &tally{}
	cfg.Hooks.OnCommit = count.add
	var e *retrytopics.Engine
	var failures atomic.Int64
	cfg.Hooks.OnFailure = func(event *retrytopics.Event) {
		failures.Add(1)
		e.Hold("stopped by a gate: " + string(event.Failure.Code))
	}
	e = b.engine(cfg)
	ctx, stop := b.runs(e)
	b.until(ctx, func() bool { return failures.Load() > 0 && count.of(policy.OutcomeDelivered) > 0 })
	stop()
	got := count.n
	expect.That(t, len(got) == 1 && count.second == 0, "outcomes while held: %v", got)
	fixed.Store(true)
	after := &tally{}
	cfg.Hooks.OnCommit = after.add
	b.drain(b.engine(cfg))
	sum := count.of(policy.OutcomeDelivered) + after.of(policy.OutcomeDelivered)
	expect.That(t, sum == 400 && len(after.n) == 1 && after.second == 0, "%d deliveries in all; after the restart %v", sum, after.n)
	b.inOrder(400)
	expect.Equal(t, len(b.read(source+".dlq")), 0, "dead letters")
}

// What waits in a tier waits on, also when it is due, and goes on without another attempt spent.
func TestEngine_S1_8_aTierIsHeldToo(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	b.produce(events(50)...)
	f := &failing{n: 1, err: unavailable}
	cfg := b.config(f.handle)
	cfg.Retries.Tiers[0].Delay = 300 * time.Millisecond
	cfg.Retries.Tiers[1].Delay, cfg.Retries.Tiers[2].Delay = time.Second, 2*time.Second
	count := &tally{}
	cfg.Hooks.OnCommit = count.add
	e := b.engine(cfg)
	ctx, _ := b.runs(e)
	b.until(ctx, func() bool { return count.of(policy.OutcomeRetried) == 50 })
	e.Hold("held")
	// Records of the tier that ran at that moment may end; what is due after it does not begin.
	b.until(ctx, func() bool {
		s := e.Stats()
		return s.Tiers[0].Waiting+int64(count.of(policy.OutcomeDelivered)) == 50 && (s.Tiers[0].NextDue.IsZero() || s.Tiers[0].Overdue > 0)
	})
	e.Resume()
	b.until(ctx, func() bool { return count.of(policy.OutcomeDelivered) == 50 })
	f.mu.Lock()
	defer f.mu.Unlock()
	for key, began := range f.began {
		expect.That(t, len(began) == 2, "%d attempts at %s, want 2", len(began), key)
	}
}
