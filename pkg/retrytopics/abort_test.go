package retrytopics_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// Every third transaction is aborted, and the engine is stopped now and then, while contents repeat and early events wait: what is
// attempted again must find the ledger and the order of its key as they are committed. A change that was closed as a duplicate of
// what an aborted transaction carried, or one that took effect twice, shows in the outputs.
func TestEngine_abortedTransactionsLeaveNoTrace(t *testing.T) {
	t.Parallel()
	for _, mode := range []retrytopics.Order{retrytopics.OrderStrict, retrytopics.OrderLatestWins, retrytopics.OrderNone} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			b, cluster := newBrokerOf(t)
			var commits, aborts atomic.Int64
			cluster.ControlKey(int16(kmsg.TxnOffsetCommit), func(r kmsg.Request) (kmsg.Response, error, bool) {
				if commits.Add(1)%3 != 0 {
					return nil, nil, false
				}
				aborts.Add(1)
				cluster.KeepControl()
				return refusedCommit(r.(*kmsg.TxnOffsetCommitRequest)), nil, true
			})
			rnd := rand.New(rand.NewPCG(7, 7))
			want := map[string][]string{}
			var records []*kgo.Record
			for n := range 900 {
				key := fmt.Sprint("k", rnd.IntN(9))
				content := string("ABC"[rnd.IntN(3)])
				if had := want[key]; len(had) == 0 || had[len(had)-1] != content {
					want[key] = append(had, content)
				}
				records = append(records, &kgo.Record{Key: []byte(key), Value: fmt.Appendf(nil, "%s/%d", content, n)})
			}
			more := func(n int) { // in pieces, so that there are many transactions
				n = min(n, len(records))
				b.produce(records[:n]...)
				records = records[n:]
			}
			more(20)
			share := 0.1
			if mode == retrytopics.OrderNone {
				share = 0
			}
			failing := flaky(share)
			cfg := b.ordered(func(ctx context.Context, r *retrytopics.Record) (retrytopics.Result, error) {
				_, err := failing(ctx, r)
				content, _, _ := strings.Cut(string(r.Value), "/")
				id := retrytopics.Identity{ContentHash: idempotency.Of([]byte(content)).String()}
				if err != nil {
					return retrytopics.Result{Identity: id}, err
				}
				return retrytopics.Result{Identity: id, Outputs: []*kgo.Record{{Topic: output, Key: r.Key, Value: r.Value}}}, nil
			}, mode)
			cfg.Dedupe.Window = time.Hour
			var mu sync.Mutex
			ended := map[string]int{}
			count := func(es []*retrytopics.Event) {
				mu.Lock()
				defer mu.Unlock()
				for _, e := range es {
					if e.Decision.Outcome.Finished() {
						ended[string(e.Record.Value)]++
					}
				}
			}
			cfg.Hooks.OnTransaction = func(time.Duration, bool) { more(20) }
			for _, after := range []int{200, 300} {
				ctx, stop := context.WithTimeout(t.Context(), testrun.Patient(20*time.Second))
				left := after
				cfg.Hooks.OnCommit = func(es []*retrytopics.Event) {
					count(es)
					if left -= len(es); left < 0 {
						stop()
					}
				}
				if err := b.engine(cfg).Run(ctx); err != nil {
					t.Fatal(err)
				}
				stop()
			}
			cfg.Hooks.OnCommit, cfg.Hooks.OnTransaction = count, nil
			more(900)
			b.drain(b.engine(cfg))
			for v, n := range ended {
				if n != 1 {
					t.Errorf("%s ended %d times", v, n)
				}
			}
			if len(ended) != 900 || aborts.Load() < 5 {
				t.Errorf("%d of 900 ended, %d aborts", len(ended), aborts.Load())
			}
			got := map[string][]string{}
			for _, r := range b.read(output) {
				content, _, _ := strings.Cut(string(r.Value), "/")
				got[string(r.Key)] = append(got[string(r.Key)], content)
			}
			for key, all := range want {
				if g := got[key]; mode != retrytopics.OrderLatestWins && !slices.Equal(g, all) || g[len(g)-1] != all[len(all)-1] {
					t.Errorf("%s took effect as\n%v, want\n%v", key, g, all)
				}
			}
		})
	}
}

// What a producer has aborted leaves a marker, and nothing that an attempt could be made of: the engine commits the position alone. A
// rebalance, or a refusal, aborts that transaction too. The position is committed by a later one, though nothing else comes:
// else the group would show a lag for as long as the topic is quiet.
func TestEngine_S4_14_aPositionAloneIsCommittedAfterAnAbort(t *testing.T) {
	t.Parallel()
	b, cluster := newBrokerOf(t)
	var refused atomic.Int64
	cluster.ControlKey(int16(kmsg.TxnOffsetCommit), func(r kmsg.Request) (kmsg.Response, error, bool) {
		refused.Add(1)
		return refusedCommit(r.(*kmsg.TxnOffsetCommitRequest)), nil, true
	})
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
	if err := e.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(ends, []bool{false, true}) || refused.Load() != 1 {
		t.Errorf("transactions ended %v (true: committed), %d refused; want one aborted, and the next one committed", ends, refused.Load())
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		t.Error("the position was committed only when the engine stopped")
	}
}

// abort produces records in a transaction that is aborted.
func (b *broker) abort(records ...*kgo.Record) {
	b.t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(b.addrs...), kgo.TransactionalID("aborts"))
	if err != nil {
		b.t.Fatal(err)
	}
	defer client.Close()
	if err := client.BeginTransaction(); err != nil {
		b.t.Fatal(err)
	}
	if err := client.ProduceSync(b.t.Context(), records...).FirstErr(); err != nil {
		b.t.Fatal(err)
	}
	if err := client.EndTransaction(b.t.Context(), kgo.TryAbort); err != nil {
		b.t.Fatal(err)
	}
}

// refusedCommit aborts the transaction that commits.
func refusedCommit(r *kmsg.TxnOffsetCommitRequest) kmsg.Response {
	response := r.ResponseKind().(*kmsg.TxnOffsetCommitResponse)
	for _, topic := range r.Topics {
		st := kmsg.NewTxnOffsetCommitResponseTopic()
		st.Topic, st.TopicID = topic.Topic, topic.TopicID
		for _, p := range topic.Partitions {
			sp := kmsg.NewTxnOffsetCommitResponseTopicPartition()
			sp.Partition, sp.ErrorCode = p.Partition, kerr.TransactionAbortable.Code
			st.Partitions = append(st.Partitions, sp)
		}
		response.Topics = append(response.Topics, st)
	}
	return response
}
