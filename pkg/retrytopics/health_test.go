package retrytopics_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// refusing answers the produce requests that bring something to a topic with an error, while it is on.
type refusing struct {
	on   atomic.Bool
	hits atomic.Int64
}

func (b *broker) refuse(topic string, code int16, control func(int16, func(kmsg.Request) (kmsg.Response, error, bool)), keep func()) *refusing {
	r := &refusing{}
	control(int16(kmsg.Produce), func(request kmsg.Request) (kmsg.Response, error, bool) {
		keep()
		req := request.(*kmsg.ProduceRequest)
		meant := false
		for _, t := range req.Topics {
			meant = meant || t.Topic == topic || t.TopicID != [16]byte{} && b.topicID(topic) == t.TopicID
		}
		if !meant || !r.on.Load() {
			return nil, nil, false
		}
		r.hits.Add(1)
		resp := req.ResponseKind().(*kmsg.ProduceResponse)
		for _, t := range req.Topics {
			rt := kmsg.NewProduceResponseTopic()
			rt.Topic, rt.TopicID = t.Topic, t.TopicID
			for _, p := range t.Partitions {
				rp := kmsg.NewProduceResponseTopicPartition()
				rp.Partition, rp.ErrorCode = p.Partition, code
				rt.Partitions = append(rt.Partitions, rp)
			}
			resp.Topics = append(resp.Topics, rt)
		}
		return resp, nil, true
	})
	return r
}

// A topic that the engine may not write to any more stops it within three attempts, with a reason that names the operation and the
// topic. No handler runs again for a record whose result is at hand, and once the permission is back the engine goes on by itself.
func TestEngine_S4_15_aMissingPermissionBlocksAndPasses(t *testing.T) {
	t.Parallel()
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
	var e *retrytopics.Engine
	cfg.Hooks.OnTransaction = func(_ time.Duration, committed bool) {
		if _, yes := e.Blocked(); !committed && !yes {
			aborted.Add(1)
		}
	}
	e = b.engine(cfg)
	b.cacheIDs(source+".state", source+".ledger", output)
	denied := b.refuse(output, kerr.TopicAuthorizationFailed.Code, cluster.ControlKey, cluster.KeepControl)

	ctx, end := b.runs(e)
	b.produce(events(20)...)
	b.until(ctx, func() bool { return len(b.read(output)) == 20 })
	denied.on.Store(true)
	b.produce(numbered("more", 500)...)
	b.until(ctx, func() bool { _, yes := e.Blocked(); return yes })
	blocked, _ := e.Blocked()
	for _, word := range []string{"User:pipeline", "Write", "topic " + output} {
		if !strings.Contains(blocked.Reason, word) {
			t.Errorf("the reason does not say %q: %s", word, blocked.Reason)
		}
	}
	if n := aborted.Load(); n != 3 {
		t.Errorf("%d aborted transactions until the engine was blocked", n)
	}
	denied.on.Store(false)
	b.until(ctx, func() bool { return len(b.read(output)) == 520 })
	if _, yes := e.Blocked(); yes {
		t.Error("it commits and is blocked")
	}
	if most.Load() != 1 {
		t.Errorf("a handler ran %d times for one record", most.Load())
	}
	end()
}

// What never is allowed ends a run at once: a bounded one does not wait for somebody to give a permission, and neither does one that has
// never committed anything.
func TestEngine_S4_15_aPermissionThatWasNeverThereEndsTheRun(t *testing.T) {
	t.Parallel()
	b, cluster := newBrokerOf(t)
	e := b.engine(b.config(copied))
	b.produce(events(5)...)
	cluster.ControlKey(int16(kmsg.InitProducerID), func(request kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		resp := request.ResponseKind().(*kmsg.InitProducerIDResponse)
		resp.ErrorCode = kerr.TransactionalIDAuthorizationFailed.Code
		return resp, nil, true
	})
	err := e.Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "Write transactional id g-one") {
		t.Errorf("error %v", err)
	}
}

// An engine that never was allowed to write results stays and waits: after its end, a restart would call the handlers again. A bounded run
// ends.
func TestEngine_S4_15_resultsThatNeverCouldBeWrittenAreKept(t *testing.T) {
	t.Parallel()
	b, cluster := newBrokerOf(t)
	var calls atomic.Int64
	e := b.engine(b.config(func(ctx context.Context, r *retrytopics.Record) (retrytopics.Result, error) {
		calls.Add(1)
		return copied(ctx, r)
	}))
	e.Hurry(50 * time.Millisecond)
	b.cacheIDs(output)
	denied := b.refuse(output, kerr.TopicAuthorizationFailed.Code, cluster.ControlKey, cluster.KeepControl)
	denied.on.Store(true)
	ctx, end := b.runs(e)
	b.produce(events(20)...)
	b.until(ctx, func() bool { return denied.hits.Load() > 5 }) // a new session has tried, too
	denied.on.Store(false)
	b.until(ctx, func() bool { return len(b.read(output)) == 20 })
	if n := calls.Load(); n != 20 {
		t.Errorf("%d calls for 20 records", n)
	}
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

// A group that does not take the offsets aborts transactions without any record being refused. One such abort is what a rebalance
// does; in a row they are a loop, and end as other trouble does: with pauses, and with a reason.
func TestEngine_S0_4_offsetsThatTheGroupRefusesBlock(t *testing.T) {
	t.Parallel()
	b, cluster := newBrokerOf(t)
	var on atomic.Bool
	cluster.ControlKey(int16(kmsg.TxnOffsetCommit), func(request kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		if !on.Load() {
			return nil, nil, false
		}
		req := request.(*kmsg.TxnOffsetCommitRequest)
		resp := req.ResponseKind().(*kmsg.TxnOffsetCommitResponse)
		for _, t := range req.Topics {
			rt := kmsg.TxnOffsetCommitResponseTopic{Topic: t.Topic}
			for _, p := range t.Partitions {
				rt.Partitions = append(rt.Partitions, kmsg.TxnOffsetCommitResponseTopicPartition{Partition: p.Partition, ErrorCode: kerr.IllegalGeneration.Code})
			}
			resp.Topics = append(resp.Topics, rt)
		}
		return resp, nil, true
	})
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
	on.Store(true)
	b.produce(numbered("more", 100)...)
	b.until(ctx, func() bool { _, yes := e.Blocked(); return yes })
	if n := aborted.Load(); n > 4 {
		t.Errorf("%d aborted transactions until the engine was blocked", n)
	}
	if blocked, _ := e.Blocked(); !strings.Contains(blocked.Reason, "group g") {
		t.Errorf("the reason does not name the group: %s", blocked.Reason)
	}
	on.Store(false)
	b.until(ctx, func() bool { return len(b.read(output)) == 120 })
	end()
}
