package engine_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
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
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// broker is an in-process broker with the topics of one engine.
type broker struct {
	t      *testing.T
	addrs  []string
	client *kgo.Client
	ids    map[string][16]byte
}

const (
	source     = "features"
	output     = "features.out"
	partitions = 3
)

// newBroker starts a broker for one test. It runs in parallel with other tests.
func newBroker(t *testing.T) *broker {
	t.Helper()
	b, _ := newBrokerOf(t)
	return b
}

// newBrokerOf returns the cluster as well, for tests that answer requests themselves.
func newBrokerOf(t *testing.T, opts ...kfake.Opt) (*broker, *kfake.Cluster) {
	t.Helper()
	t.Parallel()
	cluster := fakekafka.Start(t, append([]kfake.Opt{kfake.SeedTopics(partitions, source, output)}, opts...)...)
	client := fakekafka.Client(t, cluster)
	return &broker{t: t, addrs: cluster.ListenAddrs(), client: client}, cluster
}

func (b *broker) config(h retrytopics.Handler) retrytopics.Config {
	tiers := []policy.Tier{}
	for _, d := range []time.Duration{100 * time.Millisecond, 300 * time.Millisecond, 600 * time.Millisecond} {
		tiers = append(tiers, policy.Tier{Topic: policy.TierTopic(source+".retry-", d), Delay: d})
	}
	return retrytopics.Config{
		Brokers: b.addrs, Source: source, Group: "g", Handler: h, Membership: retrytopics.Membership{Instance: "one"},
		Retries:  retrytopics.Retries{Tiers: tiers, Policy: policy.Policy{Jitter: 20 * time.Millisecond}},
		Unknown:  classify.Permanent, // like the product
		Ordering: retrytopics.Ordering{Mode: retrytopics.OrderNone},
		Origin:   retrytopics.Origin{Proven: retrytopics.TrustProducers},
		Timing:   retrytopics.Timing{Transaction: testrun.Patient(10 * time.Second)}, // the broker aborts longer transactions
	}
}

func (b *broker) engine(cfg retrytopics.Config) *engine.Engine {
	b.t.Helper()
	e := must.Get(engine.New(cfg))(b.t)
	must.Do(b.t, e.CreateTopics(b.t.Context()))
	return e
}

// drain runs the engine until all records are finished.
func (b *broker) drain(e *engine.Engine) {
	b.t.Helper()
	ctx := testrun.Context(b.t, 30*time.Second)
	must.Do(b.t, e.RunUntilEnd(ctx))
}

// runs starts an engine. The context bounds the waits of the test. end stops the engine and fails the test if Run
// returns an error.
func (b *broker) runs(e *engine.Engine) (ctx context.Context, end func()) {
	b.t.Helper()
	ctx, stop := context.WithTimeout(b.t.Context(), testrun.Patient(time.Minute))
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	end = sync.OnceFunc(func() {
		stop()
		expect.Do(b.t, <-ended)
	})
	b.t.Cleanup(end)
	return ctx, end
}

func (b *broker) produce(records ...*kgo.Record) {
	b.t.Helper()
	for _, r := range records {
		if r.Topic == "" {
			r.Topic = source
		}
	}
	must.Do(b.t, b.client.ProduceSync(b.t.Context(), records...).FirstErr())
}

// read returns all committed records of a topic.
func (b *broker) read(topic string) []*kgo.Record {
	b.t.Helper()
	ctx := testrun.Context(b.t, 10*time.Second)
	adm := kadm.NewClient(b.client)
	ends := must.Get(adm.ListCommittedOffsets(ctx, topic))(b.t)
	starts := must.Get(adm.ListStartOffsets(ctx, topic))(b.t)
	left := map[int32]int64{}
	from := map[int32]kgo.Offset{}
	ends.Each(func(o kadm.ListedOffset) {
		start, _ := starts.Lookup(topic, o.Partition)
		if o.Offset > start.Offset {
			left[o.Partition] = o.Offset
			from[o.Partition] = kgo.NewOffset().At(start.Offset)
		}
	})
	consumer := must.Get(kgo.NewClient(kgo.SeedBrokers(b.addrs...), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords(),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: from})))(b.t)
	defer consumer.Close()
	var all []*kgo.Record
	for len(left) > 0 {
		fetches := consumer.PollFetches(ctx)
		must.Do(b.t, fetches.Err())
		fetches.EachRecord(func(r *kgo.Record) {
			if !r.Attrs.IsControl() {
				all = append(all, r)
			}
			if end, ok := left[r.Partition]; ok && r.Offset >= end-1 {
				delete(left, r.Partition)
			}
		})
	}
	return all
}

func headerOf(r *kgo.Record, key string) string {
	for _, h := range r.Headers {
		if h.Key == key {
			return string(h.Value)
		}
	}
	return ""
}

// cacheIDs stores the IDs of topics, because newer requests name topics by their ID.
func (b *broker) cacheIDs(topics ...string) {
	b.t.Helper()
	details := must.Get(kadm.NewClient(b.client).ListTopics(b.t.Context(), topics...))(b.t)
	b.ids = map[string][16]byte{}
	for _, d := range details {
		b.ids[d.Topic] = d.ID
	}
}

func (b *broker) topicID(topic string) [16]byte { return b.ids[topic] }

// until waits until a condition is true.
func (b *broker) until(ctx context.Context, so func() bool) {
	b.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !so() {
		select {
		case <-ctx.Done():
			b.t.Fatal("the condition does not become true")
		case <-tick.C:
		}
	}
}

// administers calls do with an admin client, and fails the test if do returns an error.
func (b *broker) administers(do func(context.Context, *kadm.Client) error) {
	b.t.Helper()
	must.Do(b.t, do(b.t.Context(), kadm.NewClient(b.client)))
}

// creates creates a topic that keeps its records.
func (b *broker) creates(topic string, partitions int32) {
	b.t.Helper()
	b.administers(func(ctx context.Context, adm *kadm.Client) error {
		_, err := adm.CreateTopic(ctx, partitions, 1, map[string]*string{"retention.ms": new("-1")}, topic)
		return err
	})
}

// configures sets one configuration key of the given topics.
func (b *broker) configures(key, value string, topics ...string) {
	b.t.Helper()
	b.administers(func(ctx context.Context, adm *kadm.Client) error {
		changed, err := adm.AlterTopicConfigs(ctx, []kadm.AlterConfig{{Op: kadm.SetConfig, Name: key, Value: &value}}, topics...)
		for _, c := range changed {
			if err == nil {
				err = c.Err
			}
		}
		return err
	})
}

// resets commits an offset in each partition of the source.
func (b *broker) resets(group string, offset int64) {
	b.t.Helper()
	offsets := kadm.Offsets{}
	for p := range int32(partitions) {
		offsets.AddOffset(source, p, offset, -1)
	}
	b.administers(func(ctx context.Context, adm *kadm.Client) error { return adm.CommitAllOffsets(ctx, group, offsets) })
}

// expires deletes a group with its committed offsets.
func (b *broker) expires(group string) {
	b.t.Helper()
	b.administers(func(ctx context.Context, adm *kadm.Client) error {
		_, err := adm.DeleteGroup(ctx, group)
		return err
	})
}

// byPartition makes the client produce each record to the partition that is set in the record.
func (b *broker) byPartition() {
	b.t.Helper()
	client := must.Get(kgo.NewClient(kgo.SeedBrokers(b.addrs...), kgo.RecordPartitioner(kgo.ManualPartitioner())))(b.t)
	b.t.Cleanup(client.Close)
	b.client = client
}

// fails makes the brokers answer requests of one kind with an error until the fault is removed. An empty topic means all
// topics.
func fails(cluster *kfake.Cluster, key kmsg.Key, topic string, err *kerr.Error) *kfake.FaultHandle {
	return cluster.Fault(kfake.Fault{Keys: []kmsg.Key{key}, Topic: topic, Err: err, Count: -1})
}
