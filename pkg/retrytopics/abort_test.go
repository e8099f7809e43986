package retrytopics_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

// What a producer has aborted leaves a marker, and nothing that an attempt could be made of: the engine commits the position alone. A
// rebalance, or a refusal, aborts that transaction too. The position is committed by a later one, though nothing else comes:
// else the group would show a lag for as long as the topic is quiet.
func TestEngine_S4_14_aPositionAloneIsCommittedAfterAnAbort(t *testing.T) {
	t.Parallel()
	b, cluster := newBrokerOf(t)
	refused := cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.TxnOffsetCommit}, Err: kerr.TransactionAbortable})
	ctx, stop := context.WithTimeout(t.Context(), testrun.Patient(10*time.Second))
	defer stop()
	cfg := b.config(flaky(0))
	var ends []bool
	cfg.Hooks.OnTransaction = func(_ time.Duration, committed bool) {
		if ends = append(ends, committed); committed {
			stop()
		}
	}
	e := b.engine(cfg)
	b.abort(&kgo.Record{Topic: source, Value: []byte("never")})
	must.Do(t, e.Run(ctx))
	if !slices.Equal(ends, []bool{false, true}) || refused.Hits() != 1 {
		t.Errorf("transactions ended %v (true: committed), %d refused; want one aborted, and the next one committed", ends, refused.Hits())
	}
	expect.That(t, !errors.Is(ctx.Err(), context.DeadlineExceeded), "the position was committed only when the engine stopped")
}

// abort produces records in a transaction that is aborted.
func (b *broker) abort(records ...*kgo.Record) {
	b.t.Helper()
	client := must.Get(kgo.NewClient(kgo.SeedBrokers(b.addrs...), kgo.TransactionalID("aborts")))(b.t)
	defer client.Close()
	must.Do(b.t, client.BeginTransaction())
	must.Do(b.t, client.ProduceSync(b.t.Context(), records...).FirstErr())
	must.Do(b.t, client.EndTransaction(b.t.Context(), kgo.TryAbort))
}
