package session

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/largebatch"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/partition"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/schedule"
)

// A batch that decompresses to more than the client's bound stops the client's fetches of its partition. The session
// reads it here, record by record and only as far as there is room. Then the client continues after it.

// beginLarge records that the client has met a large batch.
func (s *Session) beginLarge(ctx context.Context, met *kgo.ErrDecompressTooLarge) {
	if s.metLate(met) {
		s.seek((*partition.Partition).NextOffset)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.partitions[partition.ID{Topic: met.Topic, Partition: met.Partition}]
	if l == nil || l.Large != nil && l.Large.End == met.NextOffset {
		return
	}
	l.CloseLarge()
	l.Large = &largebatch.Read{
		Topic: l.Topic, Partition: l.ID.Partition, Limit: s.in.Cfg.Limits.RecordBytes,
		At: max(met.Offset, l.NextOffset()), End: met.NextOffset,
	}
	s.in.Cfg.Logger.InfoContext(ctx, "a batch is read record by record: it is large when decompressed", "topic", met.Topic,
		"partition", met.Partition, "offset", met.Offset, "next_offset", met.NextOffset)
}

// metLate reports whether a partition is already past a large batch: the client met it again before it was told to
// continue.
func (s *Session) metLate(met *kgo.ErrDecompressTooLarge) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.partitions[partition.ID{Topic: met.Topic, Partition: met.Partition}]
	return l != nil && met.NextOffset == l.NextOffset()
}

// readLarge continues the large batches of partitions that have room.
func (s *Session) readLarge(ctx context.Context) error {
	for _, l := range s.largePartitions() {
		if err := s.readOn(ctx, l); err != nil {
			return err
		}
	}
	return nil
}

// largePartitions returns the partitions that are at a large batch and have room.
func (s *Session) largePartitions() (partitions []*partition.Partition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, shares := time.Now(), partition.SharesOf(&s.in.Cfg, s.partitions)
	for _, l := range s.partitions {
		if l.Large != nil && !l.Large.Retry.After(now) && !l.Full(shares.Of(l)) {
			partitions = append(partitions, l)
		}
	}
	return partitions
}

// readOn reads the records of one partition's large batch. Only this goroutine reads it. The group's callbacks may
// revoke the partition meanwhile, but not while rebalances are blocked, as they are in a turn.
func (s *Session) readOn(ctx context.Context, l *partition.Partition) error {
	items, err := l.Large.Next(ctx, s.Committer.Client(), s.layout.IDs[l.Topic])
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("read a large batch: %w", ctx.Err())
	case err != nil:
		s.in.Cfg.Logger.WarnContext(ctx, "cannot read a large batch, will be tried again", "topic", l.Topic, "partition", l.Partition,
			"offset", l.Large.At, "error", err)
		l.Large.Answer, l.Large.Retry = nil, time.Now().Add(largebatch.RetryAfter)
	}
	s.acceptLarge(l, items)
	if l.Large.At >= l.Large.End {
		s.endLarge(l)
	}
	return nil
}

// endLarge lets the client continue after a large batch.
func (s *Session) endLarge(l *partition.Partition) {
	s.mu.Lock()
	next := l.Large.End
	l.CloseLarge()
	l.Window.Pass(next - 1) // compaction or an aborted transaction may have left nothing at its end
	s.lazy = true
	s.mu.Unlock()
	s.seek((*partition.Partition).NextOffset)
}

// acceptLarge adds records of a large batch to their partition and passes them to the scheduler.
func (s *Session) acceptLarge(l *partition.Partition, items []largebatch.Item) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	var records []schedule.Record
	for _, it := range items {
		if !l.Window.Expects(it.Record.Offset) {
			continue // accepted before the session began to read the batch again
		}
		if r, ok := s.accepted(l, it.Record, now); ok {
			records = append(records, s.pointAt(l, r, it))
		}
	}
	s.Sched.Add(records)
}

// pointAt makes a failing task for a record that was not read into memory.
func (s *Session) pointAt(l *partition.Partition, r schedule.Record, it largebatch.Item) schedule.Record {
	if it.Pointer == nil || r.Raw == nil {
		return r
	}
	if r.Task == nil {
		r.Task = &partition.Fill(s.in, &partition.Task{}, l, r.Raw, r.Index, time.Time{}).Task.Task
	}
	t := partition.TaskOf(r.Task)
	t.Pointer, t.Refused = it.Pointer, it.Refused
	return r
}
