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

// maxBatch lets the 10 MB record of the bad-input tests through.
const maxBatch = 15 << 20

// Cluster is a client for tests. Its methods are safe to call at the same time.
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
		kgo.ProducerBatchMaxBytes(maxBatch), kgo.ProducerLinger(0), kgo.RecordDeliveryTimeout(30*time.Second),
	)
	if err != nil {
		t.Fatalf("connect to %v: %v", addrs, err)
	}
	t.Cleanup(cl.Close)
	return &Cluster{addrs: addrs, cl: cl, adm: kadm.NewClient(cl)}
}

// Addrs are the broker's addresses.
func (c *Cluster) Addrs() []string { return c.addrs }

// Admin is the administration client, for what this package has no words for.
func (c *Cluster) Admin() *kadm.Client { return c.adm }

// Unique is a name that no other test run on this cluster uses.
func Unique(prefix string) string {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand)
	return prefix + "-" + hex.EncodeToString(b[:])
}

// Create makes a topic and returns once the cluster knows its leaders.
func (c *Cluster) Create(ctx context.Context, topic string, partitions int32, settings map[string]string) error {
	configs := map[string]*string{}
	for key, value := range maps.All(settings) {
		configs[key] = &value
	}
	if _, err := c.adm.CreateTopic(ctx, partitions, 1, configs, topic); err != nil {
		return fmt.Errorf("create topic %s: %w", topic, err)
	}
	return nil
}

// Delete removes topics; one that does not exist is no error.
func (c *Cluster) Delete(ctx context.Context, topics ...string) error {
	deleted, err := c.adm.DeleteTopics(ctx, topics...)
	if err != nil {
		return fmt.Errorf("delete topics: %w", err)
	}
	for _, topic := range deleted.Sorted() {
		if topic.Err != nil && !errors.Is(topic.Err, kerr.UnknownTopicOrPartition) {
			return fmt.Errorf("delete topic %s: %w", topic.Topic, topic.Err)
		}
	}
	return nil
}

// Produce writes records in order and returns once all are acknowledged; each
// record then has its partition, offset and timestamp. A record with a partition
// above zero goes there, every other one where its key says.
func (c *Cluster) Produce(ctx context.Context, records ...*kgo.Record) error {
	if err := c.cl.ProduceSync(ctx, records...).FirstErr(); err != nil {
		return fmt.Errorf("produce: %w", err)
	}
	return nil
}

// Committed are a group's committed offsets by topic and partition; a group that
// has never committed has none.
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

// partitioner sends a record to its own partition when that is set, else by the
// hash of its key as every Kafka client does.
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
