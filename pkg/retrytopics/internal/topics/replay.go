package topics

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Replay calls fn with all committed records of a topic in some partitions: those of from, each from its offset on. With
// since it skips older records. It reads up to the high watermark, not only to the last stable offset: the former owner's
// last transaction is decided, since its offsets were, but its marker may not have reached this topic. It waits until the
// broker ends a dead owner's open transaction.
func (c *Cluster) Replay(ctx context.Context, adm *kadm.Client, topic string, since time.Time, from iter.Seq2[int32, int64], fn func(*kgo.Record) error) error {
	left, start, err := c.extent(ctx, adm, topic, since, from)
	if err != nil || len(left) == 0 {
		return err
	}
	reader, err := kgo.NewClient(append(c.ClientOptions(),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: start}),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords())...)
	if err != nil {
		return fmt.Errorf("read %s: %w", topic, err)
	}
	defer reader.Close()
	for len(left) > 0 {
		fetches := reader.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return fmt.Errorf("read %s: %w", topic, c.Denial("Read", "topic "+topic, err))
		}
		for r := range fetches.RecordsAll() {
			if end, ok := left[r.Partition]; ok && r.Offset >= end-1 {
				delete(left, r.Partition)
			}
			if r.Attrs.IsControl() {
				continue
			}
			if err := fn(r); err != nil {
				return err
			}
		}
	}
	return nil
}

// extent returns the ends of the partitions that have records, and the start offsets.
func (c *Cluster) extent(ctx context.Context, adm *kadm.Client, topic string, since time.Time, least iter.Seq2[int32, int64]) (map[int32]int64, map[int32]kgo.Offset, error) {
	ends, err := adm.ListEndOffsets(ctx, topic)
	if err != nil {
		return nil, nil, fmt.Errorf("end of %s: %w", topic, err)
	}
	var starts kadm.ListedOffsets
	if since.IsZero() {
		starts, err = adm.ListStartOffsets(ctx, topic)
	} else {
		starts, err = adm.ListOffsetsAfterMilli(ctx, since.UnixMilli(), topic)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("start of %s: %w", topic, err)
	}
	left, start := map[int32]int64{}, map[int32]kgo.Offset{}
	for p, offset := range least {
		from, _ := starts.Lookup(topic, p)
		from.Offset = max(from.Offset, offset)
		to, ok := ends.Lookup(topic, p)
		if !ok {
			return nil, nil, fmt.Errorf("the brokers have no partition %d of %s", p, topic)
		}
		if err := errors.Join(from.Err, to.Err); err != nil {
			return nil, nil, fmt.Errorf("partition %d of %s cannot be read: %w", p, topic, c.Denial("Describe", "topic "+topic, err))
		}
		if to.Offset > from.Offset {
			left[p], start[p] = to.Offset, kgo.NewOffset().At(from.Offset)
		}
	}
	return left, start, nil
}
