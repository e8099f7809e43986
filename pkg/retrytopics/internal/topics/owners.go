package topics

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// WriterOf returns the pipeline that wrote a record to a retry topic, or "".
func WriterOf(r *kgo.Record) string {
	for _, h := range slices.Backward(r.Headers) {
		if h.Key == header.KeyPipeline {
			return string(h.Value)
		}
	}
	return ""
}

// commits returns the group's commits; nothing for a group that has never committed.
func (c *Cluster) commits(ctx context.Context, adm *kadm.Client) (kadm.OffsetResponses, error) {
	committed, err := adm.FetchOffsets(ctx, c.Group)
	if err != nil && !errors.Is(err, kerr.GroupIDNotFound) && !errors.Is(err, kerr.CoordinatorNotAvailable) {
		return nil, fmt.Errorf("committed offsets of group %s: %w", c.Group, c.Denial("Describe", "group "+c.Group, err))
	}
	return committed, nil
}

// inspectOwners refuses to start a group that has never committed if its retry topics contain records of another
// pipeline: retry topics belong to one pipeline, and two pipelines are configured with one tier prefix.
func (c *Cluster) inspectOwners(ctx context.Context, adm *kadm.Client) (faults []string, err error) {
	if committed, err := c.commits(ctx, adm); err != nil || len(committed[c.Source]) > 0 {
		return nil, err
	}
	first, err := c.firstRecords(ctx, adm)
	if err != nil {
		return nil, err
	}
	told := map[string]bool{}
	for _, r := range first {
		if writer := WriterOf(r); writer != "" && writer != c.Pipeline && !told[r.Topic] {
			told[r.Topic] = true
			faults = append(faults, fmt.Sprintf("retry topic %s has records of pipeline %q, and group %s has never consumed: two pipelines share a tier prefix; "+
				"give this one its own (topics.tier_prefix)", r.Topic, header.Clip(writer, 80), c.Group))
		}
	}
	return faults, nil
}

// firstRecords reads the first record of each partition of the tiers. It returns what arrived within tierPatience.
func (c *Cluster) firstRecords(ctx context.Context, adm *kadm.Client) (first []*kgo.Record, err error) {
	tiers := c.Consumed(nil)[1:]
	err = c.readWaiting(ctx, adm, tiers, func(partition) (int64, bool) { return 0, true }, func(_ partition, r *kgo.Record) bool {
		first = append(first, r)
		return true
	})
	return first, err
}

// tierPatience bounds the reading of retry topics at the first start of a group.
const tierPatience = 10 * time.Second

// partition is a partition of a retry topic.
type partition struct {
	topic  string
	number int32
}

// readWaiting reads the wanted partitions of topics, each from an offset or the start of its log to its current end. It
// calls fn for each record until fn has enough of the partition. It ends after tierPatience.
func (c *Cluster) readWaiting(ctx context.Context, adm *kadm.Client, topics []string, wanted func(partition) (from int64, ok bool), fn func(partition, *kgo.Record) (enough bool)) error {
	starts, err := adm.ListStartOffsets(ctx, topics...)
	if err != nil {
		return fmt.Errorf("start of the retry topics: %w", err)
	}
	ends, err := adm.ListEndOffsets(ctx, topics...)
	if err != nil {
		return fmt.Errorf("end of the retry topics: %w", err)
	}
	from, left := map[string]map[int32]kgo.Offset{}, map[partition]int64{}
	ends.Each(func(end kadm.ListedOffset) {
		at := partition{end.Topic, end.Partition}
		start, known := starts.Lookup(end.Topic, end.Partition)
		offset, ok := wanted(at)
		offset = max(offset, start.Offset)
		if !ok || !known || start.Err != nil || end.Err != nil || end.Offset <= offset {
			return
		}
		if from[end.Topic] == nil {
			from[end.Topic] = map[int32]kgo.Offset{}
		}
		from[end.Topic][end.Partition] = kgo.NewOffset().At(offset)
		left[at] = end.Offset
	})
	if len(left) == 0 {
		return nil
	}
	reader, err := kgo.NewClient(append(c.ClientOptions(), kgo.ConsumePartitions(from), kgo.KeepControlRecords())...)
	if err != nil {
		return fmt.Errorf("read the retry topics: %w", err)
	}
	defer reader.Close()
	ctx, cancel := context.WithTimeout(ctx, tierPatience)
	defer cancel()
	for len(left) > 0 && ctx.Err() == nil {
		for r := range reader.PollFetches(ctx).RecordsAll() {
			at := partition{r.Topic, r.Partition}
			end, open := left[at]
			if open && (!r.Attrs.IsControl() && fn(at, r) || r.Offset >= end-1) {
				delete(left, at)
			}
		}
	}
	return nil
}
