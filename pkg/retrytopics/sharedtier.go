package retrytopics

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
	"github.com/switchback-geo/switchback/pkg/retrytopics/statetopic"
)

// Retry topics belong to one pipeline. If two pipelines are configured with one tier prefix, a new one is refused at its
// start. One that runs leaves the records of the other alone: it does not retry them, and it does not purge the topic.

// writerOf returns the pipeline that wrote a record to a retry topic, or "".
func writerOf(r *kgo.Record) string {
	for _, h := range slices.Backward(r.Headers) {
		if h.Key == header.KeyPipeline {
			return string(h.Value)
		}
	}
	return ""
}

// ofOtherPipeline reports whether a record of a retry topic is another pipeline's. A record without a pipeline is
// foreign in a former tier; in a tier of this pipeline it is a malformed record of its own. The mutex is held.
func (s *session) ofOtherPipeline(l *partition, r *kgo.Record) bool {
	if l.tier == sourceTier || r.Attrs.IsControl() {
		return false
	}
	writer := writerOf(r)
	if writer == "" {
		former := l.tier >= len(s.e.cfg.Retries.Tiers)
		return former && (l.shared || l.committed.Offset < 0)
	}
	return writer != s.e.cfg.Origin.Pipeline && !slices.Contains(l.state.pipelines, writer)
}

// leaveToOwner passes over a record of another pipeline, and logs it once per partition. The mutex is held.
func (s *session) leaveToOwner(l *partition, r *kgo.Record) {
	l.end = max(l.end, r.Offset+1)
	l.window.Pass(r.Offset)
	s.lazy = true
	if l.shared {
		return
	}
	l.shared = true
	s.e.cfg.Logger.WarnContext(s.base, "a retry topic has records of another pipeline; they are left to it, and the topic is no longer purged; "+
		"give each pipeline a tier prefix of its own (topics.tier_prefix)",
		"topic", l.topic, "partition", l.partition, "offset", r.Offset, "pipeline", header.Clip(writerOf(r), 80), "own_pipeline", s.e.cfg.Origin.Pipeline)
}

// noteShared adds the retry topics of a partition in which records of another pipeline were found. A topic stays in the
// list: records before the committed position may still wait for the other pipeline.
func noteShared(cp *statetopic.Checkpoint, partitions map[topicPartition]*partition, sh *partitionState) {
	for tp, l := range partitions {
		if l.state == sh && l.shared && !slices.Contains(cp.Shared, tp.topic) && len(cp.Shared) < statetopic.MaxPositions {
			cp.Shared = append(slices.Clone(cp.Shared), tp.topic)
		}
	}
	slices.Sort(cp.Shared)
}

// commits returns the group's commits; nothing for a group that has never committed.
func (e *Engine) commits(ctx context.Context, adm *kadm.Client) (kadm.OffsetResponses, error) {
	committed, err := adm.FetchOffsets(ctx, e.cfg.Group)
	if err != nil && !errors.Is(err, kerr.GroupIDNotFound) && !errors.Is(err, kerr.CoordinatorNotAvailable) {
		return nil, fmt.Errorf("committed offsets of group %s: %w", e.cfg.Group, e.denial("Describe", "group "+e.cfg.Group, err))
	}
	return committed, nil
}

// tierPatience bounds the reading of retry topics at the first start of a group.
const tierPatience = 10 * time.Second

// inspectOwners refuses to start a group that has never committed if its retry topics hold records of another pipeline: two
// pipelines are configured with one tier prefix.
func (e *Engine) inspectOwners(ctx context.Context, adm *kadm.Client) (faults []string, err error) {
	if e.health.wasHealthy() {
		return nil, nil
	}
	if committed, err := e.commits(ctx, adm); err != nil || len(committed[e.cfg.Source]) > 0 {
		return nil, err
	}
	first, err := e.firstRecords(ctx, adm)
	if err != nil {
		return nil, err
	}
	told := map[string]bool{}
	for _, r := range first {
		if writer := writerOf(r); writer != "" && writer != e.cfg.Origin.Pipeline && !told[r.Topic] {
			told[r.Topic] = true
			faults = append(faults, fmt.Sprintf("retry topic %s has records of pipeline %q, and group %s has never consumed: two pipelines share a tier prefix; "+
				"give this one its own (topics.tier_prefix)", r.Topic, header.Clip(writer, 80), e.cfg.Group))
		}
	}
	return faults, nil
}

// firstRecords reads the first record of each partition of the tiers. It returns what arrived within tierPatience.
func (e *Engine) firstRecords(ctx context.Context, adm *kadm.Client) (first []*kgo.Record, err error) {
	tiers := e.topics()[1 : len(e.cfg.Retries.Tiers)+1]
	err = e.readWaiting(ctx, adm, tiers, func(topicPartition) (int64, bool) { return 0, true }, func(_ topicPartition, r *kgo.Record) bool {
		first = append(first, r)
		return true
	})
	return first, err
}

// readWaiting reads the wanted partitions of topics, each from an offset or the start of its log to its current end. It
// calls fn for each record until fn has enough of the partition. It ends after tierPatience.
func (e *Engine) readWaiting(ctx context.Context, adm *kadm.Client, topics []string, wanted func(topicPartition) (from int64, ok bool), fn func(topicPartition, *kgo.Record) (enough bool)) error {
	starts, err := adm.ListStartOffsets(ctx, topics...)
	if err != nil {
		return fmt.Errorf("start of the retry topics: %w", err)
	}
	ends, err := adm.ListEndOffsets(ctx, topics...)
	if err != nil {
		return fmt.Errorf("end of the retry topics: %w", err)
	}
	from, left := map[string]map[int32]kgo.Offset{}, map[topicPartition]int64{}
	ends.Each(func(end kadm.ListedOffset) {
		at := topicPartition{end.Topic, end.Partition}
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
	reader, err := kgo.NewClient(append(e.access.ClientOptions(), kgo.ConsumePartitions(from), kgo.KeepControlRecords())...)
	if err != nil {
		return fmt.Errorf("read the retry topics: %w", err)
	}
	defer reader.Close()
	ctx, cancel := context.WithTimeout(ctx, tierPatience)
	defer cancel()
	for len(left) > 0 && ctx.Err() == nil {
		for r := range reader.PollFetches(ctx).RecordsAll() {
			at := topicPartition{r.Topic, r.Partition}
			end, open := left[at]
			if open && (!r.Attrs.IsControl() && fn(at, r) || r.Offset >= end-1) {
				delete(left, at)
			}
		}
	}
	return nil
}
