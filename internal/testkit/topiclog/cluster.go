package topiclog

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// maxBatch allows the 10 MB record of the bad-input tests.
const maxBatch = 15 << 20

// Cluster is a client for tests. Its methods are safe for concurrent use.
type Cluster struct {
	addrs []string
	cl    *kgo.Client
	adm   *kadm.Client
}

// Connect returns a client that the test's cleanup closes.
func Connect(t testing.TB, addrs []string) *Cluster {
	t.Helper()
	cl, err := kgo.NewClient(
		kgo.SeedBrokers(addrs...), kgo.RecordPartitioner(partitioner{}),
		kgo.ProducerBatchMaxBytes(maxBatch), kgo.ProducerLinger(0), kgo.RecordDeliveryTimeout(30*time.Second), kgo.DisableClientMetrics(),
	)
	if err != nil {
		t.Fatalf("connect to %v: %v", addrs, err)
	}
	t.Cleanup(cl.Close)
	return &Cluster{addrs: addrs, cl: cl, adm: kadm.NewClient(cl)}
}

// Addrs returns the broker's addresses.
func (c *Cluster) Addrs() []string { return c.addrs }

// Admin returns the administration client, for what this package does not offer.
func (c *Cluster) Admin() *kadm.Client { return c.adm }

// Unique returns a name that no other test run on this cluster uses.
func Unique(prefix string) string {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand)
	return prefix + "-" + hex.EncodeToString(b[:])
}

// Create creates a topic and returns once the cluster's metadata shows all its partitions with leaders, which happens
// after the answer to the request.
func (c *Cluster) Create(ctx context.Context, topic string, partitions int32, settings map[string]string) error {
	configs := map[string]*string{}
	for key, value := range maps.All(settings) {
		configs[key] = &value
	}
	if _, err := c.adm.CreateTopic(ctx, partitions, -1, configs, topic); err != nil {
		return fmt.Errorf("create topic %s: %w", topic, err)
	}
	return c.shows(ctx, topic, func(d kadm.TopicDetail) bool {
		led := 0
		for _, p := range d.Partitions {
			if p.Err == nil && p.Leader >= 0 {
				led++
			}
		}
		return led == int(partitions)
	})
}

// Delete deletes a topic and returns once the metadata no longer shows it. A missing topic is not an error.
func (c *Cluster) Delete(ctx context.Context, topic string) error {
	if _, err := c.adm.DeleteTopic(ctx, topic); err != nil && !errors.Is(err, kerr.UnknownTopicOrPartition) {
		return fmt.Errorf("delete topic %s: %w", topic, err)
	}
	return c.shows(ctx, topic, func(d kadm.TopicDetail) bool { return errors.Is(d.Err, kerr.UnknownTopicOrPartition) })
}

// shows polls a topic's metadata until it is as wanted.
func (c *Cluster) shows(ctx context.Context, topic string, wanted func(kadm.TopicDetail) bool) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		// A request with the permitted operations bypasses the client's cache.
		details, err := c.adm.ListTopics(kadm.WithAuthorizedOps(ctx), topic)
		if err == nil && wanted(details[topic]) {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("waited for the metadata of topic %s: %w (last: %v, %v)", topic, ctx.Err(), details[topic].Err, err)
		}
	}
}

// Produce produces records in order and returns once all are acknowledged; each record then has its partition, offset
// and timestamp. A record with a partition above zero goes to that partition, every other one to the partition of its
// key.
func (c *Cluster) Produce(ctx context.Context, records ...*kgo.Record) error {
	if err := c.cl.ProduceSync(ctx, records...).FirstErr(); err != nil {
		return fmt.Errorf("produce: %w", err)
	}
	return nil
}

// Committed returns a group's committed offsets by topic and partition. A group that has never committed has none.
func (c *Cluster) Committed(ctx context.Context, group string) (map[string]map[int32]int64, error) {
	offsets, err := c.adm.FetchOffsets(ctx, group)
	if err != nil && !errors.Is(err, kerr.GroupIDNotFound) {
		return nil, fmt.Errorf("committed offsets of group %s: %w", group, err)
	}
	out := map[string]map[int32]int64{}
	for _, o := range offsets.Sorted() {
		if out[o.Topic] == nil {
			out[o.Topic] = map[int32]int64{}
		}
		out[o.Topic][o.Partition] = o.At
	}
	return out, nil
}

// partitioner uses a record's own partition if it is set, and otherwise the hash of its key, as every Kafka client does.
type partitioner struct{}

func (partitioner) ForTopic(topic string) kgo.TopicPartitioner {
	return topicPartitioner{kgo.StickyKeyPartitioner(nil).ForTopic(topic)}
}

type topicPartitioner struct{ kgo.TopicPartitioner }

func (p topicPartitioner) Partition(r *kgo.Record, n int) int {
	if r.Partition > 0 {
		return int(r.Partition)
	}
	return p.TopicPartitioner.Partition(r, n)
}

func (p topicPartitioner) RequiresConsistency(r *kgo.Record) bool {
	return r.Partition > 0 || p.TopicPartitioner.RequiresConsistency(r)
}
