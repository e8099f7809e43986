package kafka

import (
	"sync"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Partitioner keeps a record of a co-partitioned topic in its partition, and partitions everything else by key, as
// Kafka's own clients do.
type Partitioner struct {
	keeps  map[string]bool
	manual kgo.Partitioner
	keyed  kgo.Partitioner

	mu     sync.Mutex // guards topics
	topics map[string]*byKey
}

// NewPartitioner returns a partitioner that keeps the records of these topics in their partitions.
func NewPartitioner(keeps ...string) *Partitioner {
	p := &Partitioner{keeps: map[string]bool{}, manual: kgo.ManualPartitioner(), keyed: kgo.StickyKeyPartitioner(nil), topics: map[string]*byKey{}}
	for _, topic := range keeps {
		p.keeps[topic] = true
	}
	return p
}

// ForTopic returns the partitioner of one topic.
func (p *Partitioner) ForTopic(topic string) kgo.TopicPartitioner {
	if p.keeps[topic] {
		return p.manual.ForTopic(topic)
	}
	return p.of(topic)
}

func (p *Partitioner) of(topic string) *byKey {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.topics[topic]
	if t == nil {
		t = &byKey{sticky: p.keyed.ForTopic(topic)}
		p.topics[topic] = t
	}
	return t
}

// unknownPartition stands for all partitions of a topic, if a record may go to any of them.
const unknownPartition = -1

// partition returns the partition of a record, or unknownPartition.
func (p *Partitioner) partition(r *kgo.Record) int32 {
	if p.keeps[r.Topic] {
		return r.Partition
	}
	t := p.of(r.Topic)
	if n := t.partitions.Load(); n > 0 && r.Key != nil {
		return int32(t.sticky.Partition(r, int(n))) //nolint:gosec // a partition
	}
	return unknownPartition
}

// byKey partitions a topic by key, and stores how many partitions it has.
type byKey struct {
	sticky     kgo.TopicPartitioner
	partitions atomic.Int32
}

// RequiresConsistency reports whether a record must go to the partition of its key, reachable or not.
func (t *byKey) RequiresConsistency(r *kgo.Record) bool { return t.sticky.RequiresConsistency(r) }

// Partition returns the partition of a record among n.
func (t *byKey) Partition(r *kgo.Record, n int) int {
	t.partitions.Store(int32(n)) //nolint:gosec // a partition count
	return t.sticky.Partition(r, n)
}

// OnNewBatch lets records without keys change their partition.
func (t *byKey) OnNewBatch() {
	if sticky, ok := t.sticky.(kgo.TopicPartitionerOnNewBatch); ok {
		sticky.OnNewBatch()
	}
}
