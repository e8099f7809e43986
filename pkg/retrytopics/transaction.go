package retrytopics

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/fit"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/kafka"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/offsets"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// commit runs one transaction with the finished tasks. An aborted one is no error: a later one commits its content, and
// no handler runs again for it.
func (s *session) commit(ctx context.Context) error {
	if !s.moved() {
		// A transaction that carries nothing would make the client wait half a second before the next one.
		s.lazy = false
		return nil
	}
	began := time.Now()
	if err := s.committer.Begin(); err != nil {
		return fmt.Errorf("begin transaction: %w", err)
	}
	// From here on the client notices a rebalance and aborts, so what is staged now either commits as a whole or not at
	// all.
	st := s.stage()
	// The transaction ends even if the context does: half a transaction would only be aborted by its timeout.
	endCtx, cancel := s.ending(ctx)
	defer cancel()
	sent, err := s.produce(endCtx, st)
	if err != nil {
		err = errors.Join(err, s.void(endCtx))
		s.salvage(st.tasks)
		return err
	}
	try := kgo.TryCommit
	if sent.Broken() {
		try = kgo.TryAbort
	}
	committed, err := s.committer.End(endCtx, commitPoints(st.marks), try)
	if err != nil {
		s.salvage(st.tasks)
		return fmt.Errorf("end transaction: %w", s.in.commitDenial(err))
	}
	s.lastDone = time.Now()
	took := s.lastDone.Sub(began)
	s.sched.Pace(len(st.tasks), took)
	s.in.cfg.Hooks.OnTransaction(took, committed)
	if !committed {
		return s.undo(ctx, st, sent)
	}
	s.afterCommit(st)
	s.suspects = map[*kgo.Record]bool{}
	s.in.health.passed(s.in.cfg.Logger)
	s.block()
	return nil
}

// ending bounds the end of a transaction. After a stop, only the last part of the shutdown time is left for it.
func (s *session) ending(ctx context.Context) (context.Context, context.CancelFunc) {
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*s.in.cfg.Timing.Transaction)
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(s.in.cfg.lastCommit(), cancel) })
	return bounded, func() { stop(); cancel() }
}

// lastCommit is how much of its shutdown time an engine keeps for its last transaction.
func (c *Config) lastCommit() time.Duration { return min(c.Timing.Transaction, c.Timing.Shutdown/4) }

// commitPoints returns the marks of a transaction in the form in which they are committed.
func commitPoints(marks map[*partition]offsets.Commit) []kafka.CommitPoint {
	points := make([]kafka.CommitPoint, 0, len(marks))
	for l, m := range marks {
		points = append(points, l.commitPoint(m))
	}
	return points
}

func (s *session) void(ctx context.Context) error {
	if _, err := s.committer.End(ctx, nil, kgo.TryAbort); err != nil {
		return fmt.Errorf("abort transaction: %w", err)
	}
	return nil
}

// produce writes the records of a transaction. It returns an error that ends the session; the broker's answers are in
// the sending.
func (s *session) produce(ctx context.Context, st *staged) (*kafka.Sending, error) {
	sent := kafka.NewSending(s.committer.Client(), s.layout.Limits, s.partitioner, s.suspects)
	records := st.outputs()
	if s.in.cfg.Delivery == AtLeastOnce { // the memory of an event must not outlive its output
		if err := sent.Send(ctx, records); err != nil || sent.Broken() {
			return sent, err
		}
		records = nil
	}
	memories, err := memories(s.in, st)
	if err != nil {
		return sent, err
	}
	trails, err := st.extend(s.in.cfg.Journal.HashChain)
	if err != nil {
		return sent, err
	}
	return sent, sent.Send(ctx, slices.Concat(records, memories, trails, s.lossRecords(ctx, st.losses)))
}

// undo goes back to what is committed after an aborted transaction. Its content stays finished and goes into the next
// one. But a record whose output the broker will never accept is attempted again, to become a dead letter.
func (s *session) undo(ctx context.Context, st *staged, sent *kafka.Sending) error {
	log := s.in.cfg.Logger
	blamed := s.blame(ctx, st, sent)
	failure := s.named(sent)
	if failure == nil && !blamed && s.in.health.unexplained() {
		failure = fmt.Errorf("group %s: %w", s.in.cfg.Group, errUnexplained)
	}
	switch {
	case failure != nil:
		if fresh := s.in.health.failed(log, failure); fresh {
			s.leave(st.tasks)
			return fmt.Errorf("%w: %w", errAborts, failure)
		}
	case blamed:
		log.InfoContext(ctx, "transaction aborted: the broker refused a record for what it is", "records", len(st.tasks), "error", sent.Refusals()[0].Err)
		unsend(st.tasks)
		s.keepResults(st.tasks)
		err := s.rewind()
		s.block() // nothing finished is left: otherwise a blocked engine would begin no attempt
		return err
	default:
		log.InfoContext(ctx, "transaction aborted; its results are committed by the next one", "records", len(st.tasks))
	}
	s.leave(st.tasks)
	s.block()
	s.seek((*partition).nextOffset) // the client has gone back to what it takes for committed
	return nil
}

// errAborts ends a session whose transactions abort again and again.
var errAborts = errors.New("transactions keep being aborted")

// errUnexplained is the cause of an aborted transaction of which every record was acknowledged.
var errUnexplained = errors.New("its offsets were not committed: the group rebalances again and again, or its coordinator refuses them")

// named returns why the broker accepted no records that another try may bring through, including a missing permission.
func (s *session) named(sent *kafka.Sending) error {
	failures := sent.Topics()
	for topic, err := range failures {
		failures[topic] = s.in.produceDenial(topic, err)
	}
	return sent.Failure()
}

// salvage keeps the finished tasks of a transaction that did not end. It copies their outputs, and those in results that
// a later session may take over: the client may still hold the records themselves until it is closed.
func (s *session) salvage(tasks []*heldTask) {
	for _, t := range tasks {
		copies := make(map[*kgo.Record]*kgo.Record, len(t.outputs))
		for i, out := range t.outputs {
			copied := &kgo.Record{Topic: out.Topic, Partition: out.Partition, Key: out.Key, Value: out.Value, Headers: out.Headers}
			if t.dated {
				copied.Timestamp = out.Timestamp
			}
			t.outputs[i], copies[out] = copied, copied
		}
		t.result.Outputs = slices.Clone(t.result.Outputs)
		for i, out := range t.result.Outputs {
			if copied, sent := copies[out]; sent {
				t.result.Outputs[i] = copied
			}
		}
	}
	s.leave(tasks)
}

// unsend removes from the outputs of tasks what the client has written into them. A later transaction sends them again,
// and the context of the aborted one has ended.
func unsend(tasks []*heldTask) {
	for _, t := range tasks {
		for _, out := range t.outputs {
			out.Context = nil //nolint:fatcontext // that of the aborted transaction has ended
			if !t.dated {
				out.Timestamp = time.Time{}
			}
		}
	}
}

// leave keeps finished tasks for the next transaction. The client must have answered for all of their outputs.
func (s *session) leave(tasks []*heldTask) {
	unsend(tasks)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.aborted = tasks
	if s.abortedAt.IsZero() {
		s.abortedAt = time.Now()
	}
}

// block stops or resumes the start of attempts.
func (s *session) block() {
	_, blocked := s.in.health.blocked()
	s.sched.Block(blocked, s.unfinished())
}

// blame finds the task at fault for a record that the broker refused because of its content. A record that was not alone
// in its batch is only suspected; the next transaction sends it alone. blame reports whether a task is at fault.
func (s *session) blame(ctx context.Context, st *staged, sent *kafka.Sending) (blamed bool) {
	if len(sent.Refusals()) == 0 {
		return false
	}
	s.relearn(ctx, sent.Refusals())
	for _, f := range sent.Refusals() {
		t := st.owner(f.Record)
		switch {
		case !f.Alone && t != nil:
			s.suspects[f.Record] = true
		case t == nil, t.event.Decision.Outcome == policy.OutcomeDeadLettered && t.pointer != nil:
			sent.FailAt(f.Record.Topic, &fit.RefusedError{Topic: f.Record.Topic, Err: f.Err})
		default:
			err := classify.WithRequest(classify.Request{Method: "produce", Topic: f.Record.Topic}, s.explain(f))
			s.refused[t.record.Position] = &refused{err: err, output: t.wrote(f.Record, s.in.cfg.DLQ)}
			blamed = true
		}
	}
	return blamed
}

// explain names what a compacted topic refuses, because the broker's answer does not. A topic that does not tell whether
// it is compacted is taken for compacted.
func (s *session) explain(f kafka.Refusal) error {
	compacted, told := s.layout.Limits.Compacts(f.Record.Topic)
	if errors.Is(f.Err, kerr.InvalidRecord) && f.Record.Key == nil && (compacted || !told) {
		return &fit.KeylessError{Topic: f.Record.Topic, Err: f.Err}
	}
	return f.Err
}

// relearn reads the limits of topics that refused a batch again: an operator may have changed them.
func (s *session) relearn(ctx context.Context, failed []kafka.Refusal) {
	var refusing []string
	for _, f := range failed {
		refusing = append(refusing, f.Record.Topic)
		if !f.Alone {
			s.layout.Limits.Refused(f.Record.Topic)
		}
	}
	told, err := kafka.ReadLimits(ctx, s.adm, refusing)
	if err != nil {
		s.in.cfg.Logger.WarnContext(ctx, "cannot read what the topics take", "topics", refusing, "error", err)
		return
	}
	s.layout.Limits.Learn(told)
}

// refused is why a broker will never accept what a record became: an output, or the record itself in a topic that should
// keep it.
type refused struct {
	err    error
	output bool
}

// kept reports whether the task's transaction produces the record itself and no output.
func (t *heldTask) kept() bool {
	o := t.event.Decision.Outcome
	return o == policy.OutcomeRetried || o == policy.OutcomeParked || o == policy.OutcomeDeadLettered
}

// wrote reports whether a handler made one of the task's produced records.
func (t *heldTask) wrote(r *kgo.Record, dlq string) bool {
	return slices.Contains(t.result.Outputs, r) || !t.kept() && r.Topic != dlq
}

// finish is the orderly end: running handlers finish, their results are committed, and the instance leaves the group.
func (s *session) finish(ctx context.Context) error {
	select {
	case <-s.drained():
	case <-time.After(s.in.cfg.Timing.Shutdown*2/3 - s.in.cfg.lastCommit()/4):
		// They are cancelled only after the last commit, so that no cancellation counts as a failure of a record.
		s.in.cfg.Logger.WarnContext(ctx, "handlers still run after the shutdown timeout; their records will be reprocessed by the next owner")
	}
	err := s.commit(ctx)
	s.remember()
	return err
}

// drained starts no more handlers. The channel is closed once none runs.
func (s *session) drained() <-chan struct{} {
	done := make(chan struct{})
	go func() { s.sched.Drain(); close(done) }()
	return done
}
