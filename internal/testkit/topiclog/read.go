package topiclog

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Read returns every record of a topic that a read_committed reader sees, from the start of the log to its current end,
// ordered by partition and offset. If a transaction is open before that end, it waits for the transaction's end: a
// broker writes a commit's markers after it has answered the commit, so a committed record may become visible later.
// Records of aborted transactions are not returned. A missing topic has no records.
func (c *Cluster) Read(ctx context.Context, topic string) ([]*kgo.Record, error) {
	records, err := c.read(ctx, topic)
	if err != nil {
		return nil, fmt.Errorf("read topic %s: %w", topic, err)
	}
	return records, nil
}

func (c *Cluster) read(ctx context.Context, topic string) ([]*kgo.Record, error) {
	left, err := c.bounds(ctx, topic)
	if err != nil || len(left) == 0 {
		return nil, err
	}
	start := map[int32]kgo.Offset{}
	for p := range left {
		start[p] = kgo.NewOffset().AtStart()
	}
	cl, err := kgo.NewClient(append(c.readerOptions(),
		kgo.KeepControlRecords(), // a log often ends with a transaction marker, without which the end would never be seen
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: start}))...)
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	var records []*kgo.Record
	for len(left) > 0 {
		fetches := cl.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return nil, fmt.Errorf("partitions not read to their end %v: %w", left, err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			end, open := left[r.Partition]
			if !open {
				return
			}
			if !r.Attrs.IsControl() && r.Offset < end {
				records = append(records, r)
			}
			if r.Offset >= end-1 {
				delete(left, r.Partition)
			}
		})
	}
	slices.SortFunc(records, compare)
	return records, nil
}

// bounds returns the end offsets of the partitions that are not empty.
func (c *Cluster) bounds(ctx context.Context, topic string) (map[int32]int64, error) {
	starts, err := c.adm.ListStartOffsets(ctx, topic)
	if err != nil {
		return nil, err
	}
	ends, err := c.adm.ListEndOffsets(ctx, topic)
	if err != nil {
		return nil, err
	}
	if err := ends.Error(); errors.Is(err, kerr.UnknownTopicOrPartition) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	left := map[int32]int64{}
	for _, end := range ends.Offsets().Sorted() {
		start, _ := starts.Lookup(topic, end.Partition)
		if end.At > start.Offset {
			left[end.Partition] = end.At
		}
	}
	return left, nil
}

func (c *Cluster) readerOptions() []kgo.Opt {
	return []kgo.Opt{
		kgo.SeedBrokers(c.addrs...), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.FetchMaxWait(250e6), kgo.FetchMaxBytes(32 << 20), kgo.FetchMaxPartitionBytes(16 << 20), kgo.BrokerMaxReadBytes(64 << 20),
		kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
	}
}

func compare(a, b *kgo.Record) int {
	if a.Partition != b.Partition {
		return int(a.Partition - b.Partition)
	}
	return int(a.Offset - b.Offset)
}
