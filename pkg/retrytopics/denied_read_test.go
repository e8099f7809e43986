package retrytopics_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// afterDeniedRead runs an engine until a missing Read of its source has blocked it, gives the permission back, and calls then.
func afterDeniedRead(t *testing.T, then func(context.Context, *broker, *retrytopics.Engine)) {
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

// S4-15: an engine that was blocked by a missing Read is not blocked any more once it may read again, also where no record comes
// that it could commit.
func TestEngine_S4_15_aDeniedReadPassesWithoutRecords(t *testing.T) {
	t.Parallel()
	afterDeniedRead(t, func(ctx context.Context, b *broker, e *retrytopics.Engine) {
		b.until(ctx, func() bool { ready, _ := e.Ready(); return ready })
	})
}

// S4-15: an engine that may not read its source for some sessions is blocked with nothing to commit. It goes on by itself once
// the permission is back.
func TestEngine_S4_15_aDeniedReadPassesWithNothingToCommit(t *testing.T) {
	t.Parallel()
	afterDeniedRead(t, func(ctx context.Context, b *broker, e *retrytopics.Engine) {
		b.produce(numbered("second", 1)...)
		b.until(ctx, func() bool { return len(b.read(output)) == 2 })
		blocked, yes := e.Blocked()
		expect.That(t, !yes, "it commits and is blocked: %+v", blocked)
	})
}

// S4-15: a session that breaks while handlers run lets them come to their end. The next one takes what they made: no service is asked
// twice since a topic could not be read for a moment.
func TestEngine_S4_15_aBrokenSessionLetsRunningAttemptsFinish(t *testing.T) {
	t.Parallel()
	b, cluster := newBrokerOf(t)
	var asked atomic.Int64
	refused := make(chan struct{})
	cfg := b.config(func(ctx context.Context, r *retrytopics.Record) (retrytopics.Result, error) {
		if asked.Add(1) == 1 {
			return copied(ctx, r) // an engine that never committed anything ends when it may not read
		}
		<-refused
		select {
		case <-time.After(100 * time.Millisecond): // that its service takes to answer
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
