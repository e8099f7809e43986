package retrytopics

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/batch"
)

// A batch that decompresses to more than the client's bound stops the client's fetches of its partition. It is read here,
// record by record and only as far as there is room; then the client goes on behind it.

// largeRead is the large batch that a lane stands before.
type largeRead struct {
	at    int64        // an offset of the batch
	next  int64        // where the client goes on
	open  *batch.Large // nil until it is fetched
	retry time.Time    // not before this is it fetched again
}

const (
	// largeStep bounds how much of large batches is read before the session looks after all else.
	largeStep = 4 << 20
	// largeRetry is between two tries to fetch a large batch.
	largeRetry = time.Second
	// largeTimeout bounds the fetch of one.
	largeTimeout = 10 * time.Second
)

// beginLarge notes that the client has met a large batch.
func (s *session) beginLarge(ctx context.Context, met *kgo.ErrDecompressTooLarge) {
	if s.metLate(met) {
		s.seek((*lane).taken)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.lanes[topicPartition{met.Topic, met.Partition}]
	if l == nil || l.large != nil && l.large.next == met.NextOffset {
		return
	}
	l.closeLarge()
	l.large = &largeRead{at: max(met.Offset, l.taken()), next: met.NextOffset}
	s.e.cfg.Logger.InfoContext(ctx, "a batch is read record by record: it is large when decompressed", "topic", met.Topic,
		"partition", met.Partition, "offset", met.Offset, "next_offset", met.NextOffset)
}

// metLate says whether a large batch is behind its lane already: the client met it again before it was told to go on.
func (s *session) metLate(met *kgo.ErrDecompressTooLarge) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.lanes[topicPartition{met.Topic, met.Partition}]
	return l != nil && met.NextOffset == l.taken()
}

// closeLarge ends the reading of a large batch. The session's mutex is held.
func (l *lane) closeLarge() {
	if l.large != nil && l.large.open != nil {
		l.large.open.Close()
	}
	l.large = nil
}

// readLarge reads on in the large batches of lanes that have room.
func (s *session) readLarge(ctx context.Context) error {
	for _, l := range s.largeLanes() {
		if err := s.readOn(ctx, l); err != nil {
			return err
		}
	}
	return nil
}

// largeLanes gives the lanes that stand before a large batch and have room.
func (s *session) largeLanes() (lanes []*lane) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	for _, l := range s.lanes {
		if l.large != nil && !l.large.retry.After(now) && !l.full(s.limits(l)) {
			lanes = append(lanes, l)
		}
	}
	return lanes
}

// limits gives what a lane may hold. The mutex is held.
func (s *session) limits(l *lane) limits {
	source, tier := limitsFor(&s.e.cfg, s.lanes)
	if l.tier == sourceLane {
		return source
	}
	return tier
}

// readOn reads the records of one lane's large batch. Only this goroutine reads it; the callbacks of the group may take the
// lane away meanwhile, but not while rebalances are blocked, as they are in a turn.
func (s *session) readOn(ctx context.Context, l *lane) error {
	if l.large.open == nil {
		if err := s.fetchLarge(ctx, l); err != nil {
			s.e.cfg.Logger.WarnContext(ctx, "cannot fetch a large batch, will be tried again", "error", err)
			l.large.retry = time.Now().Add(largeRetry)
			return nil
		}
	}
	var items []batch.Item
	for read := 0; read < largeStep; {
		it, err := l.large.open.Read(ctx)
		if errors.Is(err, io.EOF) {
			return s.endLarge(l, items)
		}
		if err != nil {
			return fmt.Errorf("read a large batch: %w", err)
		}
		read += size(it.Record)
		items = append(items, it)
	}
	return s.acceptLarge(l, items)
}

func (s *session) fetchLarge(ctx context.Context, l *lane) error {
	ctx, cancel := context.WithTimeout(ctx, largeTimeout)
	defer cancel()
	at := batch.Place{Topic: l.topic, TopicID: s.layout.ids[l.topic], Partition: l.partition, Offset: l.large.at}
	var err error
	l.large.open, err = batch.OpenLarge(ctx, s.committer.client(), at, s.e.cfg.Limits.RecordBytes)
	return err
}

// endLarge takes the last records of a large batch, and lets the client go on behind it.
func (s *session) endLarge(l *lane, items []batch.Item) error {
	if err := s.acceptLarge(l, items); err != nil {
		return err
	}
	s.mu.Lock()
	next := l.large.next
	l.closeLarge()
	l.window.pass(next - 1) // compaction, or an aborted transaction, may have left nothing at its end
	s.lazy = true
	s.mu.Unlock()
	s.seek((*lane).taken)
	return nil
}

// acceptLarge takes records of a large batch into their lane and hands them to the scheduler.
func (s *session) acceptLarge(l *lane, items []batch.Item) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.large.open.Skipped() {
		return nil
	}
	now := time.Now()
	var records []taken
	for _, it := range items {
		if !l.window.takes(it.Record.Offset) {
			continue // taken before the session began to read the batch again
		}
		if t, ok := s.take(l, it.Record, now); ok {
			records = append(records, s.pointAt(t, it))
		}
	}
	s.sched.add(records)
	return nil
}

// pointAt makes a task that fails of a record that was not read into memory.
func (s *session) pointAt(t taken, it batch.Item) taken {
	if it.Pointer == nil && it.Unusable == nil || t.raw == nil {
		return t
	}
	if t.task == nil {
		t.task = s.e.newTask(&task{}, t, time.Time{})
	}
	t.task.pointer, t.task.refused = pointTo(it)
	if it.Pointer != nil {
		t.task.refused = &sizeError{it.Pointer.Bytes, s.e.cfg.Limits.RecordBytes}
	}
	return t
}
