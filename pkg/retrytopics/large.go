package retrytopics

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/switchback-geo/switchback/internal/recordbatch"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/fit"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/schedule"
)

// A batch that decompresses to more than the client's bound stops the client's fetches of its partition. The session
// reads it here, record by record and only as far as there is room. Then the client goes on after it.

// largeRead is a large batch at the position of a partition.
type largeRead struct {
	at     int64     // next wanted offset of the batch
	next   int64     // where the client goes on
	retry  time.Time // earliest time of the next fetch
	reader *recordbatch.Reader
	answer *kmsg.FetchResponseTopicPartition // nil until it is fetched
	unread *recordbatch.Large                // unreadable offsets, from at on; nil if there are none
}

// largeItem is one offset of a large batch: a record, or a pointer to one that is not read into memory, with the reason.
type largeItem struct {
	record  *kgo.Record
	pointer *header.Pointer
	refused error
}

const (
	// largeStep bounds how much of large batches is read before the session does its other work.
	largeStep = 4 << 20
	// largeRetry is the pause between two tries to fetch a large batch.
	largeRetry = time.Second
	// largeTimeout bounds the fetch of a large batch.
	largeTimeout = 10 * time.Second
	// largeWindow bounds the window of zstd. RFC 8878 recommends that decoders accept 8 MiB.
	largeWindow = 32 << 20
	// unreadStep is how many unreadable offsets are taken at once.
	unreadStep = 1000
)

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
	l.large = &largeRead{at: max(met.Offset, l.nextOffset()), next: met.NextOffset}
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

// closeLarge ends the reading of a large batch. The session's mutex is held.
func (l *partition) closeLarge() {
	if l.large != nil && l.large.reader != nil {
		l.large.reader.Close()
	}
	l.large = nil
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
	items, err := s.nextLarge(ctx, l)
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

// nextLarge returns the next items of a large batch, about as many as a step may have. It returns an error together with
// what was read before it.
func (s *session) nextLarge(ctx context.Context, l *partition) ([]largeItem, error) {
	read := l.large
	if read.unread != nil {
		return read.refuse(), nil
	}
	if read.answer == nil {
		if err := s.fetchLarge(ctx, l); err != nil {
			return nil, err
		}
	}
	var items []largeItem
	taken := 0
	step := func(r *kgo.Record) error {
		if taken += size(r); taken >= largeStep {
			return recordbatch.ErrEnough
		}
		return nil
	}
	from := read.at
	var err error
	read.at, err = read.reader.Each(ctx, read.answer, from, read.next,
		func(r *kgo.Record) error {
			items = append(items, largeItem{record: r})
			return step(r)
		},
		func(found *recordbatch.Large) error {
			if found.Unread {
				read.unread = found
				return recordbatch.ErrEnough
			}
			items = append(items, pointTo(found))
			return step(found.Record)
		})
	if read.unread != nil {
		read.at = read.unread.Offset
	}
	if err == nil && read.at == from && len(items) == 0 && read.unread == nil {
		err = errors.New("the broker's answer has no batch")
	}
	return items, err
}

// refuse returns pointers to some of the unreadable offsets.
func (read *largeRead) refuse() (items []largeItem) {
	for range unreadStep {
		if read.at > read.unread.Last {
			read.unread = nil
			break
		}
		items = append(items, pointToUnread(read.unread, read.at))
		read.at++
	}
	return items
}

// fetchLarge asks the partition's leader for one batch: a broker sends the first one whole, whatever the limit.
func (s *session) fetchLarge(ctx context.Context, l *partition) error {
	ctx, cancel := context.WithTimeout(ctx, largeTimeout)
	defer cancel()
	client := s.committer.Client()
	leader, _, err := client.PartitionLeader(l.topic, l.partition)
	if err != nil {
		return err
	}
	raw, err := client.Broker(int(leader)).RetriableRequest(ctx, recordbatch.Request(l.topic, s.layout.IDs[l.topic], l.partition, l.large.at, 1))
	if err != nil {
		return err
	}
	answer, err := recordbatch.AnswerOf(raw, l.partition)
	if err != nil {
		return err
	}
	if err := kerr.ErrorForCode(answer.ErrorCode); err != nil {
		return err
	}
	l.large.answer = answer
	if l.large.reader == nil {
		limits := recordbatch.Limits{Record: s.in.cfg.Limits.RecordBytes, Headers: s.in.cfg.Limits.RecordBytes, Window: largeWindow}
		l.large.reader = recordbatch.NewReader(l.topic, l.partition, limits)
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
		r.Task = &s.in.fill(&heldTask{}, l, r.Raw, r.Index, time.Time{}).Task
	}
	t := taskOf(r.Task)
	t.pointer, t.refused = it.pointer, it.refused
	return r
}

// pointTo makes the pointer to a record that is too large for memory.
func pointTo(found *recordbatch.Large) largeItem {
	r := found.Record
	at := header.Position{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset}
	p := &header.Pointer{Position: at, Bytes: max(found.Bytes, 0), Head: found.Head, Value: found.SHA256}
	switch {
	case found.KeySHA256 != [sha256.Size]byte{}:
		p.Key = &found.KeySHA256
	case len(r.Key) > fit.PointerKey:
		sum := sha256.Sum256(r.Key)
		p.Key, r.Key = &sum, nil
	}
	return largeItem{record: r, pointer: p, refused: &fit.SizeError{Why: found.Why}}
}

// pointToUnread makes the pointer to an unreadable offset.
func pointToUnread(of *recordbatch.Large, offset int64) largeItem {
	at := header.Position{Topic: of.Topic, Partition: of.Partition, Offset: offset}
	r := *of.Record
	r.Offset = offset
	return largeItem{record: &r, pointer: &header.Pointer{Position: at}, refused: &fit.BatchError{Err: errors.New(of.Why)}}
}
