package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/fit"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/kafka"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/partition"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/transaction"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// commit runs one transaction with the finished tasks. An aborted one is not an error: a later one commits its
// content, and no handler runs again for it.
func (s *Session) commit(ctx context.Context) error {
	if !s.moved() {
		// An empty transaction would make the client wait half a second before the next one.
		s.lazy = false
		return nil
	}
	began := time.Now()
	if err := s.Committer.Begin(); err != nil {
		return fmt.Errorf("begin transaction: %w", err)
	}
	// From here on the client notices a rebalance and aborts, so what is staged now commits as a whole or not at all.
	st := s.stage()
	// The transaction ends even if the context does: otherwise only its timeout would abort it.
	endCtx, cancel := s.ending(ctx)
	defer cancel()
	sent, err := s.produce(endCtx, st)
	if err != nil {
		err = errors.Join(err, s.void(endCtx))
		transaction.Salvage(st.Tasks)
		s.leave(st.Tasks)
		return err
	}
	try := kgo.TryCommit
	if sent.Broken() {
		try = kgo.TryAbort
	}
	committed, err := s.Committer.End(endCtx, st.CommitPoints(), try)
	if err != nil {
		transaction.Salvage(st.Tasks)
		s.leave(st.Tasks)
		return fmt.Errorf("end transaction: %w", s.in.CommitDenial(err))
	}
	s.lastDone = time.Now()
	took := s.lastDone.Sub(began)
	s.Sched.Pace(len(st.Tasks), took)
	s.in.Cfg.Hooks.OnTransaction(took, committed)
	if !committed {
		return s.undo(ctx, st, sent)
	}
	s.afterCommit(st)
	s.suspects = map[*kgo.Record]bool{}
	s.in.Health.Passed(s.in.Cfg.Logger)
	s.block()
	return nil
}

// ending bounds the end of a transaction. After a stop, only the last part of the shutdown time is left for it.
func (s *Session) ending(ctx context.Context) (context.Context, context.CancelFunc) {
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*s.in.Cfg.Timing.Transaction)
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(lastCommit(&s.in.Cfg.Timing), cancel) })
	return bounded, func() { stop(); cancel() }
}

// lastCommit is how much of its shutdown time an engine keeps for its last transaction.
func lastCommit(t *retrytopics.Timing) time.Duration {
	return min(t.Transaction, t.Shutdown/4)
}

func (s *Session) void(ctx context.Context) error {
	if _, err := s.Committer.End(ctx, nil, kgo.TryAbort); err != nil {
		return fmt.Errorf("abort transaction: %w", err)
	}
	return nil
}

// produce writes the records of a transaction. It returns an error that ends the session; sending has the broker's
// answers.
func (s *Session) produce(ctx context.Context, st *transaction.Content) (*kafka.Sending, error) {
	sent := kafka.NewSending(s.Committer.Client(), s.layout.Limits, s.partitioner, s.suspects)
	records := st.Outputs()
	if s.in.Cfg.Delivery == retrytopics.AtLeastOnce { // the memory of an event must not outlive its output
		if err := sent.Send(ctx, records); err != nil || sent.Broken() {
			return sent, err
		}
		records = nil
	}
	memories, err := st.Memories(s.in)
	if err != nil {
		return sent, err
	}
	links, err := st.Extend(s.in.Cfg.Journal.HashChain)
	if err != nil {
		return sent, err
	}
	return sent, sent.Send(ctx, slices.Concat(records, memories, links, st.LossRecords(ctx, s.in)))
}

// undo returns to the committed state after an aborted transaction. Its content stays finished and goes into the next
// one. But a record whose output the broker will never accept is attempted again, to become a dead letter.
func (s *Session) undo(ctx context.Context, st *transaction.Content, sent *kafka.Sending) error {
	log := s.in.Cfg.Logger
	blamed := s.blame(ctx, st, sent)
	failure := s.named(sent)
	if failure == nil && !blamed && s.in.Health.Unexplained() {
		failure = fmt.Errorf("group %s: %w", s.in.Cfg.Group, errUnexplained)
	}
	switch {
	case failure != nil:
		if fresh := s.in.Health.Failed(log, failure); fresh {
			s.leave(st.Tasks)
			return fmt.Errorf("%w: %w", ErrAborts, failure)
		}
	case blamed:
		log.InfoContext(ctx, "transaction aborted: the broker refused a record because of its content", "records", len(st.Tasks), "error", sent.Refusals()[0].Err)
		transaction.Unsend(st.Tasks)
		s.keepResults(st.Tasks)
		err := s.rewind()
		s.block() // no finished result is left: otherwise a blocked engine would begin no attempt
		return err
	default:
		log.InfoContext(ctx, "transaction aborted; its results are committed by the next one", "records", len(st.Tasks))
	}
	s.leave(st.Tasks)
	s.block()
	s.seek((*partition.Partition).NextOffset) // the client has gone back to the offsets that it considers committed
	return nil
}

// ErrAborts ends a session whose transactions abort again and again.
var ErrAborts = errors.New("transactions keep being aborted")

// errUnexplained is the cause of an aborted transaction of which every record was acknowledged.
var errUnexplained = errors.New("its offsets were not committed: the group rebalances again and again, or its coordinator refuses them")

// named returns the reason why the broker accepted no records and another try may help, including a missing
// permission.
func (s *Session) named(sent *kafka.Sending) error {
	failures := sent.Topics()
	for topic, err := range failures {
		failures[topic] = s.in.ProduceDenial(topic, err)
	}
	return sent.Failure()
}

// leave keeps finished tasks for the next transaction. The client must have answered for all of their outputs.
func (s *Session) leave(tasks []*partition.Task) {
	transaction.Unsend(tasks)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.aborted = tasks
	if s.abortedAt.IsZero() {
		s.abortedAt = time.Now()
	}
}

// block stops or resumes the start of attempts.
func (s *Session) block() {
	_, blocked := s.in.Health.Blocked()
	s.Sched.Block(blocked, s.unfinished())
}

// blame finds the task whose record the broker refused because of its content. A record that was not alone in its
// batch is only suspected; the next transaction sends it alone. blame reports whether it found one.
func (s *Session) blame(ctx context.Context, st *transaction.Content, sent *kafka.Sending) (blamed bool) {
	if len(sent.Refusals()) == 0 {
		return false
	}
	s.relearn(ctx, sent.Refusals())
	for _, f := range sent.Refusals() {
		t := st.Owner(f.Record)
		switch {
		case !f.Alone && t != nil:
			s.suspects[f.Record] = true
		case t == nil, t.Event.Decision.Outcome == policy.OutcomeDeadLettered && t.Pointer != nil:
			sent.FailAt(f.Record.Topic, &fit.RefusedError{Topic: f.Record.Topic, Err: f.Err})
		default:
			err := classify.WithRequest(classify.Request{Method: "produce", Topic: f.Record.Topic}, s.explain(f))
			s.refused[t.Record.Position] = &refused{err: err, output: transaction.MadeByHandler(t, f.Record, s.in.Cfg.DLQ)}
			blamed = true
		}
	}
	return blamed
}

// explain adds the reason why a compacted topic refuses a record, because the broker's answer does not state it. If
// it is unknown whether a topic is compacted, explain assumes that it is.
func (s *Session) explain(f kafka.Refusal) error {
	compacted, told := s.layout.Limits.Compacts(f.Record.Topic)
	if errors.Is(f.Err, kerr.InvalidRecord) && f.Record.Key == nil && (compacted || !told) {
		return &fit.KeylessError{Topic: f.Record.Topic, Err: f.Err}
	}
	return f.Err
}

// relearn reads the limits of topics that refused a batch again: an operator may have changed them.
func (s *Session) relearn(ctx context.Context, failed []kafka.Refusal) {
	var refusing []string
	for _, f := range failed {
		refusing = append(refusing, f.Record.Topic)
		if !f.Alone {
			s.layout.Limits.Refused(f.Record.Topic)
		}
	}
	told, err := kafka.ReadLimits(ctx, s.adm, refusing)
	if err != nil {
		s.in.Cfg.Logger.WarnContext(ctx, "cannot read the limits of the topics", "topics", refusing, "error", err)
		return
	}
	s.layout.Limits.Learn(told)
}

// refused is the reason why a broker will never accept an output of a record, or the record itself in a topic that
// should keep it.
type refused struct {
	err    error
	output bool
}

// finish is the orderly end: running handlers finish, their results are committed, and the instance leaves the group.
func (s *Session) finish(ctx context.Context) error {
	select {
	case <-s.drained():
	case <-time.After(s.in.Cfg.Timing.Shutdown*2/3 - lastCommit(&s.in.Cfg.Timing)/4):
		// They are cancelled only after the last commit, so that no cancellation counts as a failure of a record.
		s.in.Cfg.Logger.WarnContext(ctx, "handlers still run after the shutdown timeout; their records will be reprocessed by the next owner")
	}
	err := s.commit(ctx)
	s.remember()
	return err
}

// drained starts no more handlers. The channel is closed once none runs.
func (s *Session) drained() <-chan struct{} {
	done := make(chan struct{})
	go func() { s.Sched.Drain(); close(done) }()
	return done
}
