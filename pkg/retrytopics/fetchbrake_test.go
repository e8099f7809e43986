package retrytopics_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// S4-14: the leader has a newer epoch than the client knows, and nothing was read yet: the client asks again at once, for as long as it
// does not read metadata (it may be waiting after an outage).
func TestEngine_S4_14_aFencedFetchIsNotRepeatedWithoutAPause(t *testing.T) {
	b, cluster := newBrokerOf(t)
	var handled atomic.Int64
	e := b.engine(b.config(func(ctx context.Context, r *retrytopics.Record) (retrytopics.Result, error) {
		handled.Add(1)
		return copied(ctx, r)
	}))
	b.produce(events(5)...)
	var over atomic.Bool
	var asked atomic.Int64
	cluster.ControlKey(int16(kmsg.Fetch), func(r kmsg.Request) (kmsg.Response, error, bool) {
		if over.Load() {
			return nil, nil, false
		}
		cluster.KeepControl()
		asked.Add(1)
		return fencedFetch(r.(*kmsg.FetchRequest)), nil, true
	})
	time.AfterFunc(2*time.Second, func() { over.Store(true) })
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	b.until(ctx, func() bool { return handled.Load() == 5 })
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if n := asked.Load(); n == 0 || n > 200 {
		t.Errorf("%d fetches were answered with FENCED_LEADER_EPOCH within two seconds, want some, and 200 at most", n)
	}
}

// fencedFetch refuses every partition that is asked for; without a session, so that each request names them.
func fencedFetch(r *kmsg.FetchRequest) kmsg.Response {
	resp := r.ResponseKind().(*kmsg.FetchResponse)
	for _, asked := range r.Topics {
		topic := kmsg.NewFetchResponseTopic()
		topic.Topic, topic.TopicID = asked.Topic, asked.TopicID
		for _, p := range asked.Partitions {
			partition := kmsg.NewFetchResponseTopicPartition()
			partition.Partition, partition.ErrorCode = p.Partition, kerr.FencedLeaderEpoch.Code
			topic.Partitions = append(topic.Partitions, partition)
		}
		resp.Topics = append(resp.Topics, topic)
	}
	return resp
}
