package retrytopics_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
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
