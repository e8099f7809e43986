package retrytopics

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/idempotency"
)

// batch is what one transaction carries: the results of finished tasks, and the positions that go with them.
type batch struct {
	tasks   []*task // in the order in which they finished
	changes map[*shard][]*change
	marks   map[*lane]mark
	heads   map[*shard][]byte // new heads of trails
}

// commit runs one transaction with what has finished. An aborted one is no error: all that it carried is done again.
func (s *session) commit(ctx context.Context) error {
	began := time.Now()
	if err := s.link.begin(); err != nil {
		return fmt.Errorf("begin transaction: %w", err)
	}
	// From here on the client notes a rebalance and aborts; so what is staged now either commits as a whole or not at all.
	b := s.stage()
	// The transaction ends even when the context does: half a transaction would only be aborted by its timeout.
	endCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*s.e.cfg.TransactionTimeout)
	defer cancel()
	try, err := s.produce(endCtx, b)
	if err != nil {
		return errors.Join(err, s.void(endCtx))
	}
	committed, err := s.link.end(endCtx, b.marks, try)
	if err != nil {
		return fmt.Errorf("end transaction: %w", err)
	}
	s.lastDone = time.Now()
	took := time.Since(began)
	s.sched.pace(pace(len(b.tasks), took))
	s.e.cfg.OnTransaction(took, committed)
	if !committed {
		s.e.cfg.Logger.Info("transaction aborted; its work is done again", "records", len(b.tasks))
		return s.rewind()
	}
	s.settled(b)
	return nil
}

func (s *session) void(ctx context.Context) error {
	if _, err := s.link.end(ctx, nil, kgo.TryAbort); err != nil {
		return fmt.Errorf("abort transaction: %w", err)
	}
	return nil
}

// stage takes the finished tasks, in the order in which they finished, and computes the positions that their transaction
// commits.
func (s *session) stage() *batch {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := &batch{marks: map[*lane]mark{}, changes: map[*shard][]*change{}, heads: map[*shard][]byte{}}
	s.lazy = false
	b.tasks = s.sched.harvest() // none of a lane that is gone: forgetting one takes its tasks away
	for _, t := range b.tasks {
		t.lane.window.finish(t.offset)
		if t.change.state != nil || t.change.ledged {
			b.changes[t.lane.shard] = append(b.changes[t.lane.shard], &t.change)
		}
	}
	for _, l := range s.lanes {
		if m := l.window.mark(); m != l.committed && m.offset >= 0 {
			b.marks[l] = m
		}
	}
	return b
}

// produce writes the batch's records and says how the transaction must end. A record that the broker will never take is
// remembered, so that its task is dead-lettered when it is done again; the error is for what cannot be mended that way.
func (s *session) produce(ctx context.Context, b *batch) (kgo.TransactionEndTry, error) {
	var mu sync.Mutex
	var failure error
	client := s.link.client()
	owners := sync.OnceValue(b.owners)
	promise := func(r *kgo.Record, err error) {
		if err == nil {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		failure = errors.Join(failure, s.refuse(owners()[r], r, err))
	}
	arrived := func() (kgo.TransactionEndTry, error) {
		if err := client.Flush(ctx); err != nil {
			return kgo.TryAbort, fmt.Errorf("flush transaction: %w", err)
		}
		mu.Lock()
		defer mu.Unlock()
		var lasting *unplaceableError
		switch {
		case failure == nil:
			return kgo.TryCommit, nil
		case errors.As(failure, &lasting):
			return kgo.TryAbort, lasting
		}
		s.e.cfg.Logger.WarnContext(ctx, "produce failed; the transaction is aborted", "error", failure)
		return kgo.TryAbort, nil
	}
	for _, t := range b.tasks {
		for _, out := range t.outputs {
			client.Produce(ctx, out, promise)
		}
	}
	if s.e.cfg.Delivery == AtLeastOnce { // what is remembered of an event must not outlive its output
		if try, err := arrived(); try == kgo.TryAbort {
			return try, err
		}
	}
	memories, err := s.e.memories(b)
	if err != nil {
		return kgo.TryAbort, err
	}
	trails, err := s.e.cfg.Trail.extend(b)
	if err != nil {
		return kgo.TryAbort, err
	}
	for _, out := range append(memories, trails...) {
		client.Produce(ctx, out, promise)
	}
	return arrived()
}

// owners gives the task of every output.
func (b *batch) owners() map[*kgo.Record]*task {
	owners := map[*kgo.Record]*task{}
	for _, t := range b.tasks {
		for _, out := range t.outputs {
			owners[out] = t
		}
	}
	return owners
}

// maxPacked keeps a packed record far below Kafka's default limit of a message.
const maxPacked = 8192

// memories gives the records that remember what the batch changed: the states of keys, and per shard one packed record of
// what took effect.
func (e *Engine) memories(b *batch) ([]*kgo.Record, error) {
	var records []*kgo.Record
	for sh, changes := range b.changes {
		ledged := make([]idempotency.Change, 0, len(changes))
		for _, c := range changes {
			if c.ledged {
				ledged = append(ledged, idempotency.Change{Key: c.hash, Applied: c.applied})
			}
			if c.state == nil {
				continue
			}
			r, err := encodeState(e.cfg.Ordering.StateTopic, sh.partition, c.state.key, c.state.state)
			if err != nil {
				return nil, err
			}
			records = append(records, r)
		}
		for part := range slices.Chunk(ledged, maxPacked) {
			records = append(records, &kgo.Record{Topic: e.cfg.Dedupe.LedgerTopic, Partition: sh.partition, Value: idempotency.AppendChanges(nil, part)})
		}
	}
	return records, nil
}

// unplaceableError says that a record can go neither to its output nor to the topic that should keep it.
type unplaceableError struct {
	topic string
	from  string
	err   error
}

func (e *unplaceableError) Error() string {
	return fmt.Sprintf("topic %s refuses the record of %s: %v; raise its max.message.bytes to that of the source plus 16384 and start again (nothing is lost)",
		e.topic, e.from, e.err)
}
func (e *unplaceableError) Unwrap() error { return e.err }

// refuse notes a produce error.
func (s *session) refuse(t *task, r *kgo.Record, err error) error {
	lasting := errors.Is(err, kerr.MessageTooLarge) || errors.Is(err, kerr.RecordListTooLarge) ||
		errors.Is(err, kerr.InvalidRecord) || errors.Is(err, kerr.InvalidTimestamp)
	if !lasting {
		return fmt.Errorf("produce to %s: %w", r.Topic, err)
	}
	if t == nil {
		return &unplaceableError{r.Topic, "the engine's own memory", err}
	}
	if o := t.event.Decision.Outcome; o == OutcomeRetried || o == OutcomeParked || o == OutcomeDeadLettered {
		return &unplaceableError{r.Topic, t.record.Position.String(), err}
	}
	s.refused[t.record.Position] = classify.WithRequest(classify.Request{Method: "produce", Topic: r.Topic}, err)
	return fmt.Errorf("output of %s to %s: %w", t.record.Position, r.Topic, err)
}

// settled notes that a batch is committed and tells it.
func (s *session) settled(b *batch) {
	s.mu.Lock()
	for l, m := range b.marks {
		l.committed = m
	}
	for sh, changes := range b.changes {
		sh.commit(changes)
	}
	for sh, head := range b.heads {
		sh.head = head
	}
	events := make([]*Event, 0, len(b.tasks))
	for _, t := range b.tasks {
		t.lane.let(t.offset, t.weight)
		delete(s.refused, t.record.Position)
		events = append(events, &t.event)
		s.waits(t)
	}
	s.balance(false)
	s.mu.Unlock()
	if len(events) > 0 {
		s.e.cfg.OnCommit(events)
	}
}

// waits notes where a task's record waits now. The mutex is held.
func (s *session) waits(t *task) {
	if o := t.event.Decision.Outcome; o != OutcomeRetried && o != OutcomeParked {
		return
	}
	if l := s.lanes[topicPartition{t.event.Destination, t.lane.partition}]; l != nil {
		l.wrote(t.outputs[0].Offset)
	}
}

// finish is the orderly end: running handlers finish, what they made is committed, the group is left.
func (s *session) finish(ctx context.Context) error {
	drained := make(chan struct{})
	go func() { s.sched.drain(); close(drained) }()
	select {
	case <-drained:
	case <-time.After(s.e.cfg.ShutdownTimeout):
		// They are cancelled only after the last commit, so that no cancellation is taken for a failure of a record.
		s.e.cfg.Logger.WarnContext(ctx, "handlers still run after the shutdown timeout; their records are done again by the next owner")
	}
	var err error
	if _, some := s.sched.pending(); some || s.lazy {
		err = s.commit(ctx)
	}
	s.remember()
	return err
}
