package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/internal/control"
	"github.com/switchback-geo/switchback/internal/replay/jobs"
	"github.com/switchback-geo/switchback/internal/replay/operation"
	"github.com/switchback-geo/switchback/internal/replay/states"
	"github.com/switchback-geo/switchback/internal/replay/transaction"
)

// execution carries out an operation on dead letters: a replay, a discard, an edit, an undo. It runs in sessions. A
// lost broker ends a session, and the next one starts with step 1:
//
//  1. fence: all other replayers of the source topic, by the transactional ID ([transaction.Start])
//  2. recheck: read the committed states, and each dead letter again
//  3. prepare: decide about the dead letters of one transaction
//  4. write: records, states and audit events in one transaction, or nothing; the next ones are prepared meanwhile
//  5. count: what was committed is settled, and reported to the job
//  6. wait: for the consumer's outcomes
type execution struct {
	service      *Service
	op           operation.Operation
	task         task
	lease        *jobs.Lease
	job          *jobs.Job
	letters      int // chosen
	settled      int // of them, in reading order, with a final decision
	transactions int // committed
	left         Untouched
	begun        bool
	undecided    int // dead letters of a transaction with an unknown outcome, until the next session has read the states
}

// task is what an execution carries out: [replaying] or [changing].
type task interface {
	// start begins a session with the states as of the fencing. begun reports whether the audit trail has the
	// operation's first event.
	start(ctx context.Context, st *states.Table) (begun bool, err error)
	// rest returns the readers of the unsettled dead letters, one for each pass.
	rest() []reader
	// limits returns the limits of the next transaction.
	limits() limits
	// decide decides about one dead letter by the states.
	decide(ctx context.Context, st *states.Table, of *candidate) (decision, error)
	// pace waits until a transaction with so many dead letters may begin.
	pace(ctx context.Context, letters int) error
	// count counts what a transaction settled.
	count(b *batch)
	// counts returns what is done so far.
	counts() control.JobCounts
	// gate decides after a transaction whether the execution may continue.
	gate(ctx context.Context) error
	// wait waits for the consumer after the last transaction.
	wait(ctx context.Context) error
	// closing returns the audit event that ends the operation; nil for most.
	closing() *audit.Event
	// lostBroker is called when the execution waits for the broker.
	lostBroker(err error)
}

// limits limit a transaction.
type limits struct {
	letters int
	sends   int  // dead letters that go back; 0 is no limit
	alone   bool // nothing is prepared while it is written, because decisions carry their time, and a wave is judged before the next
}

// run carries out the execution. It holds the lease over all sessions.
func (x *execution) run(ctx context.Context) error {
	x.lease = x.service.jobs.NewLease(x.op)
	x.job = x.lease.StartJob(x.op, x.letters)
	defer x.lease.Release(ctx)
	err := x.cancelled(x.service.persist(ctx, x.lease, x.session, x.task.lostBroker))
	if err != nil && x.undecided > 0 {
		err = fmt.Errorf("%w; %w, with %d dead letters: replayer list shows their statuses", err, ErrUndecided, x.undecided)
	}
	counts := x.counts()
	x.lease.EndJob(ctx, jobStateEnded(err, counts), counts, err)
	return err
}

// session runs one writer, from the fencing to the end of the dead letters or the loss of the broker.
func (x *execution) session(ctx context.Context) error {
	w, st, err := transaction.Start(ctx, x.service.writing, &x.op, x.lease)
	if err != nil {
		return err
	}
	defer w.Close()
	x.undecided = 0
	return x.conclude(ctx, w, x.work(ctx, w, st))
}

// work does what is left, and waits for the consumer.
func (x *execution) work(ctx context.Context, w *transaction.Writer, st *states.Table) error {
	begun, err := x.task.start(ctx, st)
	if err != nil {
		return err
	}
	if !x.begun && !begun {
		w.AddOperationEvent(x.op.Started(x.service.now(), x.letters))
	}
	s := &session{execution: x, writer: w, states: st}
	for _, read := range x.task.rest() {
		if err := s.pass(ctx, read); err != nil {
			return err
		}
	}
	w.WaitVisible(ctx)
	return x.task.wait(ctx)
}

// conclude writes the event that ends the operation, if it has one, after the operation has ended or stopped by
// itself. err is how it ended.
func (x *execution) conclude(ctx context.Context, w *transaction.Writer, err error) error {
	_, stopped := errors.AsType[*StopError](err)
	closing := x.task.closing()
	if closing == nil || err != nil && !stopped {
		return err
	}
	w.AddOperationEvent(closing)
	_, unwritten := w.Commit(ctx, nil)
	return cmp.Or(err, unwritten)
}

// session is one session of an execution. The batch that is prepared ahead uses walk and states; otherwise one
// goroutine owns them.
type session struct {
	*execution
	writer *transaction.Writer
	walk   *walk
	states *states.Table // as of the fencing, with what was prepared since
	ahead  *ahead        // nil if nothing is prepared ahead
}

// pass settles what one reader reads, batch by batch. While the broker takes one batch, the next is prepared. Its
// decisions hold if the earlier batch is committed; otherwise they end with the session.
func (s *session) pass(ctx context.Context, read reader) error {
	reading, cancel := context.WithCancel(ctx)
	defer cancel()
	s.walk = startWalk(reading, read)
	defer s.walk.stop()
	defer s.join() // before the walk that it uses ends
	defer cancel()
	for {
		b, err := s.next(reading)
		if ctx.Err() != nil {
			return s.stopped(ctx.Err())
		}
		if err != nil {
			return err
		}
		if err := s.waitWhilePaused(ctx, b); err != nil {
			return err
		}
		if err := s.task.pace(ctx, len(b.staged)); err != nil {
			return s.stopped(err)
		}
		s.prepareAhead(reading, b)
		if err := s.write(ctx, b); err != nil {
			return err
		}
		s.settled += b.looked
		for _, skip := range b.skips {
			s.left.skip(skip)
		}
		s.task.count(b)
		s.report()
		if err := s.task.gate(ctx); err != nil || b.last {
			return err
		}
	}
}

func (s *session) stopped(err error) error {
	return fmt.Errorf("stopped with %d dead letters remaining: %w", s.letters-s.settled, err)
}

const (
	batchLetters = 2000     // dead letters in one transaction
	batchBytes   = 16 << 20 // values and headers in one transaction; a larger dead letter has its own transaction
)

// ErrUndecided marks an execution that ended before it learned whether its last transaction was committed. Match it
// with errors.Is.
var ErrUndecided = errors.New("it is unknown whether the last transaction was committed")

// staged is the change of one dead letter in a batch.
type staged struct {
	transaction.Change
	of candidate // as it was read; the decision is repeated from it
	// sentBefore is the last offset that was known for the key before the dead letter went back (see
	// [states.Table.AddSent]).
	sentBefore int64
}

// batch has the dead letters of one transaction with their decisions. Nothing of it is sent yet.
type batch struct {
	looked    int // dead letters that were read
	staged    []staged
	skips     []Skip
	already   int      // done by this operation before
	overtaken []string // IDs of those that had been closed as superseded, at most maxSkips
	bytes     int
	sends     int  // dead letters that go back
	last      bool // no dead letter follows
	limits    limits
}

func (b *batch) full() bool {
	return len(b.staged) >= b.limits.letters || len(b.skips) >= maxSkips || b.limits.sends > 0 && b.sends >= b.limits.sends
}

// prepare decides about the next dead letters, as if everything prepared before were committed.
func (s *session) prepare(ctx context.Context, of limits) (*batch, error) {
	b := &batch{limits: of}
	for !b.full() {
		l, more, err := s.walk.next()
		if err != nil {
			return nil, err
		}
		if !more {
			b.last = true
			break
		}
		if len(b.staged) > 0 && b.bytes+l.size() > batchBytes {
			s.walk.back(l)
			break
		}
		b.looked++
		if err := s.decide(ctx, b, l); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// decide decides about one dead letter and adds it to a batch.
func (s *session) decide(ctx context.Context, b *batch, l candidate) error {
	do, err := s.task.decide(ctx, s.states, &l)
	if err != nil {
		return err
	}
	if do.overtaken && len(b.overtaken) < maxSkips {
		b.overtaken = append(b.overtaken, l.letter.ID)
	}
	switch {
	case do.already:
		b.already++
	case do.why != "":
		b.skips = append(b.skips, Skip{ID: l.id(), Why: do.why})
	default:
		do.of = l
		b.bytes += l.size()
		s.states.Set(do.Next)
		if do.Sends {
			b.sends++
			s.states.HoldContent(do.Next) // also for one that leaves the pipeline and is closed here
			do.sentBefore = s.states.AddSent(&do.Next)
		}
		b.staged = append(b.staged, do.staged)
	}
	return nil
}

// ahead is a batch that is being prepared.
type ahead struct {
	done  chan struct{} // closed when batch or err is set
	batch *batch
	err   error
}

// next returns the batch that was prepared ahead, or prepares one.
func (s *session) next(ctx context.Context) (*batch, error) {
	if s.ahead == nil {
		return s.prepare(ctx, s.task.limits())
	}
	s.join()
	b, err := s.ahead.batch, s.ahead.err
	s.ahead = nil
	return b, err
}

// prepareAhead starts to prepare the batch after b, unless b has to be alone.
func (s *session) prepareAhead(ctx context.Context, b *batch) {
	if b.last || b.limits.alone {
		return
	}
	a, next := &ahead{done: make(chan struct{})}, s.task.limits()
	s.ahead = a
	go func() {
		defer close(a.done)
		a.batch, a.err = s.prepare(ctx, next)
	}()
}

// join waits until nothing is being prepared.
func (s *session) join() {
	if s.ahead != nil {
		<-s.ahead.done
	}
}

// write writes a batch in one transaction. If the topic refuses a dead letter for its size, it is skipped, and the
// rest is written without it. The next batch assumed that it was sent, so it is decided again.
func (s *session) write(ctx context.Context, b *batch) error {
	var behind *batch
	for len(b.staged) > 0 {
		refused, err := s.writer.Commit(ctx, b.changes())
		if s.writer.Undecided() {
			s.undecided = len(b.staged)
		}
		if err != nil {
			return err
		}
		if refused == nil {
			s.transactions++
			s.begun = true
			break
		}
		if s.join(); behind == nil && s.ahead != nil && s.ahead.err == nil {
			behind = s.ahead.batch
			s.revert(behind)
		}
		s.drop(b, refused)
	}
	if behind != nil {
		s.ahead.err = s.decideAgain(ctx, behind)
	}
	return nil
}

// changes returns what the transaction of a batch writes.
func (b *batch) changes() []*transaction.Change {
	out := make([]*transaction.Change, len(b.staged))
	for i := range b.staged {
		out[i] = &b.staged[i].Change
	}
	return out
}

// forget removes a dead letter from those that had been closed as superseded.
func (b *batch) forget(id string) {
	b.overtaken = slices.DeleteFunc(b.overtaken, func(other string) bool { return other == id })
}

// revert reverts what the last prepared batch changed in the states.
func (s *session) revert(b *batch) {
	for _, d := range slices.Backward(b.staged) {
		s.revertOne(&d)
	}
}

// revertOne reverts what the decision about one dead letter changed in the states.
func (s *session) revertOne(d *staged) {
	s.states.Set(d.Prev)
	if d.Sends {
		s.states.RemoveSent(&d.Next, d.sentBefore)
	}
}

// decideAgain decides again about the dead letters of a reverted batch.
func (s *session) decideAgain(ctx context.Context, b *batch) error {
	before := b.staged
	b.staged, b.bytes, b.sends = nil, 0, 0
	for _, d := range before {
		b.forget(d.Letter.ID)
		if err := s.decide(ctx, b, d.of); err != nil {
			return err
		}
	}
	return nil
}

// drop removes a refused dead letter from a batch.
func (s *session) drop(b *batch, refused *transaction.Change) {
	why := "the topic refuses it: it is larger than the topic's max.message.bytes"
	if refused.Sends {
		b.sends--
		why = "the topic refuses it: with the headers of a replay it is larger than the topic's max.message.bytes"
	}
	l := refused.Letter // the deletion below moves what refused points to
	i := slices.IndexFunc(b.staged, func(d staged) bool { return d.Letter == l })
	s.revertOne(&b.staged[i])
	b.skips = append(b.skips, Skip{ID: l.ID, Why: why})
	b.forget(l.ID)
	b.staged = slices.Delete(b.staged, i, i+1)
}
