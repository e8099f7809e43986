package retrytopics

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/schedule"
)

// A batch that decompresses to more than the client's bound stops the client's fetches of its partition. The session
// reads it here, record by record and only as far as there is room. Then the client goes on after it.

// beginLarge records that the client has met a large batch.
func (s *session) beginLarge(ctx context.Context, met *kgo.ErrDecompressTooLarge) {
	if s.metLate(met) {
		s.seek((*partition).nextOffset)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.partitions[topicPartition{met.Topic, met.Partition}]
	if l == nil || l.large != nil && l.large.next == met.NextOffset {
		return
	}
	l.closeLarge()
	l.large = &largeRead{
		topic: l.topic, partition: l.topicPartition.partition, limit: s.in.cfg.Limits.RecordBytes,
		at: max(met.Offset, l.nextOffset()), next: met.NextOffset,
	}
	s.in.cfg.Logger.InfoContext(ctx, "a batch is read record by record: it is large when decompressed", "topic", met.Topic,
		"partition", met.Partition, "offset", met.Offset, "next_offset", met.NextOffset)
}

// metLate reports whether a partition is already past a large batch: the client met it again before it was told to go
// on.
func (s *session) metLate(met *kgo.ErrDecompressTooLarge) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.partitions[topicPartition{met.Topic, met.Partition}]
	return l != nil && met.NextOffset == l.nextOffset()
}

// readLarge continues the large batches of partitions that have room.
func (s *session) readLarge(ctx context.Context) error {
	for _, l := range s.largePartitions() {
		if err := s.readOn(ctx, l); err != nil {
			return err
		}
	}
	return nil
}

// largePartitions returns the partitions that are at a large batch and have room.
func (s *session) largePartitions() (partitions []*partition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	for _, l := range s.partitions {
		if l.large != nil && !l.large.retry.After(now) && !l.full(s.limits(l)) {
			partitions = append(partitions, l)
		}
	}
	return partitions
}

// limits returns what a partition may hold. The mutex is held.
func (s *session) limits(l *partition) limits {
	source, tier := limitsFor(&s.in.cfg, s.partitions)
	if l.tier == sourceTier {
		return source
	}
	return tier
}

// readOn reads the records of one partition's large batch. Only this goroutine reads it. The group's callbacks may
// revoke the partition meanwhile, but not while rebalances are blocked, as they are in a turn.
func (s *session) readOn(ctx context.Context, l *partition) error {
	items, err := l.large.more(ctx, s.committer.Client(), s.layout.IDs[l.topic])
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("read a large batch: %w", ctx.Err())
	case err != nil:
		s.in.cfg.Logger.WarnContext(ctx, "cannot read a large batch, will be tried again", "topic", l.topic, "partition", l.partition,
			"offset", l.large.at, "error", err)
		l.large.answer, l.large.retry = nil, time.Now().Add(largeRetry)
	}
	s.acceptLarge(l, items)
	if l.large.at >= l.large.next {
		s.endLarge(l)
	}
	return nil
}

// endLarge lets the client go on after a large batch.
func (s *session) endLarge(l *partition) {
	s.mu.Lock()
	next := l.large.next
	l.closeLarge()
	l.window.Pass(next - 1) // compaction or an aborted transaction may have left nothing at its end
	s.lazy = true
	s.mu.Unlock()
	s.seek((*partition).nextOffset)
}

// acceptLarge adds records of a large batch to their partition and hands them to the scheduler.
func (s *session) acceptLarge(l *partition, items []largeItem) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	var records []schedule.Record
	for _, it := range items {
		if !l.window.Expects(it.record.Offset) {
			continue // accepted before the session began to read the batch again
		}
		if r, ok := s.accepted(l, it.record, now); ok {
			records = append(records, s.pointAt(l, r, it))
		}
	}
	s.sched.Add(records)
}

// pointAt makes a failing task for a record that was not read into memory.
func (s *session) pointAt(l *partition, r schedule.Record, it largeItem) schedule.Record {
	if it.pointer == nil || r.Raw == nil {
		return r
	}
	if r.Task == nil {
		r.Task = &fill(s.in, &heldTask{}, l, r.Raw, r.Index, time.Time{}).Task
	}
	t := taskOf(r.Task)
	t.pointer, t.refused = it.pointer, it.refused
	return r
}
