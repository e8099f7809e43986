package world

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/switchback-geo/switchback/pkg/retrytopics/engine"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/integration/simulation/judge"
)

// CreateTopics creates the topics of an engine with these tiers, as `consumer topics ensure` does.
func (w *World) CreateTopics(tiers []time.Duration) error {
	in := newInstance(w, "setup", nil)
	in.change.Tiers = tiers
	p := &process{in: in, host: w.Kafka.host(), held: newHeld(w.finished)}
	e, err := engine.New(in.config(p))
	if err != nil {
		return err
	}
	return e.CreateTopics(w.ctx)
}

// topics returns the names of the topics for the judge.
func (w *World) topics() judge.Topics {
	t := judge.Topics{Source: Source, Output: Output, Journal: Journal, Losses: Losses, DLQ: DLQ, Trail: Trail}
	for _, tier := range tiers(w.Plan.Delays()) {
		t.Tiers = append(t.Tiers, tier.Topic)
	}
	return t
}

// DeleteGroup deletes the group with all its commits, as brokers do when its offsets expire. The group must be empty.
func (w *World) DeleteGroup() error {
	return w.withAdmin(func(ctx context.Context, adm *kadm.Client) error {
		_, err := adm.DeleteGroup(ctx, Group)
		return err
	})
}

// read returns all records of topics that a reader with read_committed sees, by partition and offset.
func (w *World) read(ctx context.Context, topics []string) (map[string][]*kgo.Record, error) {
	ends, start := map[topicPartition]int64{}, map[string]map[int32]kgo.Offset{}
	err := w.Kafka.each(topics, func(l topicPartition, first, end int64) {
		if end > first {
			ends[l] = end
			if start[l.topic] == nil {
				start[l.topic] = map[int32]kgo.Offset{}
			}
			start[l.topic][l.partition] = kgo.NewOffset().At(first)
		}
	})
	if err != nil || len(ends) == 0 {
		return nil, err
	}
	client, err := w.Kafka.client(kgo.ConsumePartitions(start), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords())
	if err != nil {
		return nil, err
	}
	defer client.Close()
	logs := map[string][]*kgo.Record{}
	for len(ends) > 0 {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil && !wait(ctx, time.Second) { // perhaps a fault that was meant for the engines
			return nil, fmt.Errorf("not read to the end: %v: %w", ends, err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			l := topicPartition{r.Topic, r.Partition}
			if !r.Attrs.IsControl() {
				logs[r.Topic] = append(logs[r.Topic], r)
			}
			if r.Offset >= ends[l]-1 {
				delete(ends, l)
			}
		})
	}
	for _, log := range logs {
		slices.SortFunc(log, func(a, b *kgo.Record) int {
			if a.Partition != b.Partition {
				return int(a.Partition - b.Partition)
			}
			return int(a.Offset - b.Offset)
		})
	}
	return logs, nil
}

// each calls f with the first offset of each partition of topics and the one after the last.
func (k *Kafka) each(topics []string, f func(l topicPartition, first, end int64)) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.cluster == nil {
		return errors.New("the cluster is down")
	}
	for _, topic := range topics {
		for _, p := range k.cluster.PartitionInfos(topic) {
			f(topicPartition{topic, p.Partition}, p.LogStartOffset, p.HighWatermark)
		}
	}
	return nil
}

// committed returns the offsets of the group.
func (k *Kafka) committed() map[string]map[int32]int64 {
	out := map[string]map[int32]int64{}
	k.Do(func(c *kfake.Cluster) {
		group := c.GroupInfo(Group)
		if group == nil {
			return
		}
		for topic, partitions := range group.Commits {
			out[topic] = map[int32]int64{}
			for p, commit := range partitions {
				out[topic][p] = commit.Offset
			}
		}
	})
	return out
}

const readBound = time.Minute
