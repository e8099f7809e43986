package retrytopics

import "github.com/twmb/franz-go/pkg/kgo"

// partitioner keeps a record of a shard's topics in its partition, and partitions all else by key as Kafka's own clients
// do.
type partitioner struct {
	shard  map[string]bool
	manual kgo.Partitioner
	byKey  kgo.Partitioner
}

func newPartitioner(cfg *Config) partitioner {
	p := partitioner{shard: map[string]bool{cfg.DLQ: true, cfg.Ordering.StateTopic: true, cfg.Dedupe.LedgerTopic: true, cfg.Trail.HeadTopic: true}, manual: kgo.ManualPartitioner(), byKey: kgo.StickyKeyPartitioner(nil)}
	for _, t := range cfg.Tiers {
		p.shard[t.Topic] = true
	}
	for _, t := range cfg.ShardTopics {
		p.shard[t] = true
	}
	return p
}

// ForTopic gives the partitioner of one topic.
func (p partitioner) ForTopic(topic string) kgo.TopicPartitioner {
	if p.shard[topic] {
		return p.manual.ForTopic(topic)
	}
	return p.byKey.ForTopic(topic)
}
