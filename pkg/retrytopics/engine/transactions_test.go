package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/fakekafka"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/engine"
)

const (
	trailTopic = "features.trail"
	headTopic  = "features.heads"
)

// counting is a hash chain whose head is the number of failures so far. It writes a record for each failure with its
// number.
func counting() retrytopics.HashChain {
	return retrytopics.HashChain{HeadTopic: headTopic, Extend: func(p int32, head []byte, events []*retrytopics.Event) ([]*kgo.Record, []byte, error) {
		n := 0
		if head != nil {
			var err error
			if n, err = strconv.Atoi(string(head)); err != nil {
				return nil, nil, err
			}
		}
		var records []*kgo.Record
		for _, e := range events {
			if e.Failure == nil {
				continue
			}
			n++
			records = append(records, &kgo.Record{Topic: trailTopic, Partition: p, Value: fmt.Appendf(nil, "%d %s", n, e.Record.Source)})
		}
		if records == nil {
			return nil, head, nil
		}
		return records, strconv.AppendInt(nil, int64(n), 10), nil
	}}
}

// A hash chain has neither gap nor fork, over aborted transactions and over a restart, which continues from the
// committed head.
func TestTrail_S3_8_goesOnOverRestarts(t *testing.T) {
	b := newBroker(t)
	b.creates(trailTopic, partitions)
	deny := func(_ context.Context, r *retrytopics.Record) (retrytopics.Result, error) {
		if strings.HasSuffix(string(r.Key), "0") {
			return retrytopics.Result{}, classify.WithClass(classify.Row, errors.New("no"))
		}
		return retrytopics.Result{}, nil
	}
	const rounds, each = 3, 200
	for round := range rounds {
		for i := range each {
			b.produce(&kgo.Record{Key: fmt.Appendf(nil, "k%d-%d", round, i), Value: []byte("{}")})
		}
		cfg := b.config(deny)
		cfg.Journal.HashChain, cfg.Journal.KeepPartition = counting(), []string{trailTopic}
		b.drain(b.engine(cfg))
	}
	last, all := map[int32]int{}, 0
	for _, r := range b.read(trailTopic) {
		n, _, _ := strings.Cut(string(r.Value), " ")
		got, err := strconv.Atoi(n)
		expect.That(t, err == nil && got == last[r.Partition]+1, "partition %d: %q after entry %d", r.Partition, r.Value, last[r.Partition])
		last[r.Partition]++
		all++
	}
	expect.Equal(t, rounds*each/10, all, "entries")
	heads := map[int32]string{}
	for _, r := range b.read(headTopic) {
		heads[r.Partition] = string(r.Value)
	}
	for p, n := range last {
		expect.That(t, heads[p] == strconv.Itoa(n), "partition %d: the head is %q after %d entries", p, heads[p], n)
	}
}

func TestTrail_isRefusedWithoutTransactions(t *testing.T) {
	b := newBroker(t)
	cfg := b.config(func(context.Context, *retrytopics.Record) (retrytopics.Result, error) {
		return retrytopics.Result{}, nil
	})
	cfg.Journal.HashChain, cfg.Delivery = counting(), retrytopics.AtLeastOnce
	_, err := engine.New(cfg)
	expect.That(t, err != nil && strings.Contains(err.Error(), "fork"), "got %v", err)
	cfg.Journal.HashChain, cfg.Delivery = retrytopics.HashChain{HeadTopic: headTopic}, retrytopics.ExactlyOnce
	_, err = engine.New(cfg)
	expect.That(t, err != nil && strings.Contains(err.Error(), "no Extend"), "got %v", err)
}

// A producer's aborted records leave a transaction marker and nothing to attempt: the engine commits only the
// position. If a rebalance or a refusal aborts that transaction, a later one commits the position although no record
// follows. Otherwise the group would show a lag as long as nothing is produced to the topic.
func TestEngine_S4_14_aPositionAloneIsCommittedAfterAnAbort(t *testing.T) {
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
	expect.That(t, slices.Equal(ends, []bool{false, true}) && refused.Hits() == 1, "transactions ended %v (true: committed), %d refused; want one aborted, and the next one committed", ends, refused.Hits())
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

// Without transactions, the ledger must not be written before the output that it describes: after a crash the event
// would be closed as its own duplicate and lost.
func TestEngine_atLeastOnceTheLedgerKnowsOnlyOfOutputsThatAreThere(t *testing.T) {
	t.Parallel()
	cluster := fakekafka.Start(t, kfake.NumBrokers(2), kfake.SeedTopics(1, source, output))
	client := fakekafka.Client(t, cluster)
	b := &broker{t: t, addrs: cluster.ListenAddrs(), client: client}
	b.produce(&kgo.Record{Key: []byte("k"), Value: []byte("k/1")})
	cfg := b.ordered(hashed, retrytopics.OrderLatestWins)
	cfg.Delivery, cfg.Dedupe.Window, cfg.Timing.Transaction = retrytopics.AtLeastOnce, time.Hour, time.Second
	e := b.engine(cfg)
	const lost, kept = 0, 1
	for topic, node := range map[string]int32{output: lost, source + ".ledger": kept} {
		must.Do(t, cluster.MoveTopicPartition(topic, 0, node))
	}
	ctx, stop := context.WithTimeout(t.Context(), testrun.Patient(20*time.Second))
	defer stop()
	var gone atomic.Bool
	gone.Store(true)
	cluster.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		if cluster.CurrentNode() != lost || !gone.Load() {
			return nil, nil, false
		}
		cluster.KeepControl()
		time.AfterFunc(time.Second, stop) // lets other records in flight arrive
		return nil, errors.New("the broker is gone"), true
	})
	must.Do(t, e.Run(ctx))
	gone.Store(false)
	b.drain(b.engine(cfg))
	expect.Equal(t, len(b.read(output)), 1, "outputs")
}
