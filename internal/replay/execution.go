package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/internal/control"
)

// execution carries out an operation on dead letters: a replay of a plan, a discard, an edit, the reversal of one. It runs in sessions;
// a lost broker ends one, and the next one begins again with step 1:
//
//  1. fence: all other replayers of the source topic, by the transactional ID ([Service.startWriter])
//  2. recheck: the states that are committed by then, and each letter again
//  3. prepare: decide about the letters of one transaction
//  4. write: records, states and audit events in one transaction, or nothing; the next ones are prepared meanwhile
//  5. count: what was committed is settled, and reported to the job
//  6. wait: for the consumer's verdict
type execution struct {
	service      *Service
	op           operation
	task         task
	job          *job
	letters      int // chosen
	settled      int // of them, in the order in which they are read, that are decided finally
	transactions int // committed
	left         Untouched
	begun        bool
	undecided    int // letters of a transaction of which nobody knows whether it was committed, until the next session has read the states
}

// task is what an execution does: [replaying] or [changing].
type task interface {
	// start begins a session by the states as of the fencing. begun reports whether the audit trail has the operation's first event.
	start(ctx context.Context, st *standing) (begun bool, err error)
	// rest returns the readers of the letters that are not settled, one for each pass.
	rest() []reader
	// limits bounds the next transaction.
	limits() limits
	// decide decides about one letter by the states.
	decide(ctx context.Context, st *standing, of *spotted) (decision, error)
	// pace waits until a transaction with so many letters may begin.
	pace(ctx context.Context, letters int) error
	// count takes over what a transaction has settled.
	count(b *batch)
	// counts returns what was done so far.
	counts() control.JobCounts
	// gate looks after a transaction whether the execution may go on.
	gate(ctx context.Context) error
	// wait awaits the consumer after the last transaction.
	wait(ctx context.Context) error
	// closing returns the audit event with which the operation ends; nil of most.
	closing() *audit.Event
	// lostBroker reports that the broker is waited for.
	lostBroker(err error)
}

// limits bounds a transaction.
type limits struct {
	letters int
	sends   int  // letters that go back; 0 is no bound
	alone   bool // nothing is prepared while it is written: what is decided carries its time, and a wave is judged before the next
}

// run carries the execution out. The lease is held over all sessions.
func (x *execution) run(ctx context.Context) error {
	l := x.service.newLease(x.op)
	x.job = x.service.newJob(x.op, l.record.Token, x.letters)
	x.op.lease, l.job = l, x.job
	defer l.release(ctx)
	err := x.cancelled(x.service.persist(ctx, l, x.session, x.task.lostBroker))
	if err != nil && x.undecided > 0 {
		err = fmt.Errorf("%w; %w, with %d dead letters: replayer list shows their statuses", err, ErrUndecided, x.undecided)
	}
	l.endJob(ctx, x.counts(), err)
	return err
}

// session is the time of one writer: from the fencing to the end of the letters, or to the loss of the broker.
func (x *execution) session(ctx context.Context) error {
	w, st, err := x.service.startWriter(ctx, x.op)
	if err != nil {
		return err
	}
	defer w.close()
	x.undecided = 0
	return x.conclude(ctx, w, x.work(ctx, w, st))
}

// work does what is left to do, and waits for the consumer.
func (x *execution) work(ctx context.Context, w *writer, st *standing) error {
	begun, err := x.task.start(ctx, st)
	if err != nil {
		return err
	}
	if !x.begun && !begun {
		w.trail.own = x.service.begin(x.op, x.letters)
	}
	s := &session{execution: x, writer: w, standing: st}
	for _, read := range x.task.rest() {
		if err := s.pass(ctx, read); err != nil {
			return err
		}
	}
	w.settle(ctx)
	return x.task.wait(ctx)
}

// conclude writes the event with which the operation ends, if it has one and came to its end, or to a stop of its own. err is how it came
// there.
func (x *execution) conclude(ctx context.Context, w *writer, err error) error {
	_, stopped := errors.AsType[*StopError](err)
	closing := x.task.closing()
	if closing == nil || err != nil && !stopped {
		return err
	}
	w.trail.own = closing
	_, unwritten := w.commit(ctx, nil)
	return cmp.Or(err, unwritten)
}

// session lends walk and standing to the batch that is prepared ahead; else one goroutine owns it.
type session struct {
	*execution
	writer   *writer
	walk     *walk
	standing *standing // as of the fencing, plus what was prepared
	ahead    *ahead    // nil when nothing is prepared ahead
}

// pass settles what one reader reads, batch after batch. While one is on its way to the broker, the next is prepared: what is decided
// for it holds once the one before is committed, and is forgotten with the session when that fails.
func (s *session) pass(ctx context.Context, read reader) error {
	reading, cancel := context.WithCancel(ctx)
	defer cancel()
	s.walk = startWalk(reading, read)
	defer s.walk.stop()
	defer s.join() // before the walk ends under it
	defer cancel()
	for {
		b, err := s.next(reading)
		if ctx.Err() != nil {
			return s.stopped(ctx.Err())
		}
		if err != nil {
			return err
		}
		if err := s.heed(ctx, b); err != nil {
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
	return fmt.Errorf("stopped with %d dead letters still to go: %w", s.letters-s.settled, err)
}

// batch is what one transaction is about: letters that were looked at and decided. Nothing of it is sent yet.
type batch struct {
	looked    int // letters, of those that were chosen
	staged    []staged
	skips     []Skip
	already   int      // done by this operation before
	overtaken []string // ids of those that had been closed as superseded, at most maxSkips
	bytes     int
	sends     int  // letters that go back
	last      bool // no letter is behind it
	limits    limits
}

func (b *batch) full() bool {
	return len(b.staged) >= b.limits.letters || len(b.skips) >= maxSkips || b.limits.sends > 0 && b.sends >= b.limits.sends
}

// prepare decides about the next letters, on the ground that all that was prepared before will be committed.
func (s *session) prepare(ctx context.Context, most limits) (*batch, error) {
	b := &batch{limits: most}
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
		if err := s.take(ctx, b, l); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// take decides about one letter and takes it into a batch.
func (s *session) take(ctx context.Context, b *batch, l spotted) error {
	do, err := s.task.decide(ctx, s.standing, &l)
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
		s.standing.set(do.next)
		if do.sends {
			b.sends++
			s.standing.hold(do.next) // also what goes to another topic and is closed here
			do.sentBefore = s.standing.noteSent(&do.next)
		}
		b.staged = append(b.staged, do.staged)
	}
	return nil
}

// ahead is a batch that is being prepared.
type ahead struct {
	done  chan struct{} // closed when the rest is there
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

// prepareAhead starts to prepare the batch behind b, unless b has to be alone.
func (s *session) prepareAhead(ctx context.Context, b *batch) {
	if b.last || b.limits.alone {
		return
	}
	a, most := &ahead{done: make(chan struct{})}, s.task.limits()
	s.ahead = a
	go func() {
		defer close(a.done)
		a.batch, a.err = s.prepare(ctx, most)
	}()
}

// join waits until nothing is being prepared.
func (s *session) join() {
	if s.ahead != nil {
		<-s.ahead.done
	}
}

// write writes a batch in one transaction. A letter that the topic refuses for its size is skipped and the rest written again without
// it; the batch behind counted on it, and is decided again.
func (s *session) write(ctx context.Context, b *batch) error {
	var behind *batch
	for len(b.staged) > 0 {
		refused, err := s.writer.commit(ctx, b.staged)
		if s.writer.undecided {
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
		s.ahead.err = s.again(ctx, behind)
	}
	return nil
}

// forget takes back that a letter is changed that had been closed as superseded.
func (b *batch) forget(id string) {
	b.overtaken = slices.DeleteFunc(b.overtaken, func(other string) bool { return other == id })
}

// revert takes back what a batch, the last one prepared, changed in what is known of letters.
func (s *session) revert(b *batch) {
	for _, d := range slices.Backward(b.staged) {
		s.undecide(&d)
	}
}

// undecide takes back what the decision about one letter changed in what is known of letters.
func (s *session) undecide(d *staged) {
	s.standing.set(d.prev)
	if d.sends {
		s.standing.unnoteSent(&d.next, d.sentBefore)
	}
}

// again decides once more about the letters of a batch that was reverted.
func (s *session) again(ctx context.Context, b *batch) error {
	before := b.staged
	b.staged, b.bytes, b.sends = nil, 0, 0
	for _, d := range before {
		b.forget(d.letter.ID)
		if err := s.take(ctx, b, d.of); err != nil {
			return err
		}
	}
	return nil
}

// drop takes a refused letter out of a batch.
func (s *session) drop(b *batch, refused *staged) {
	why := "the topic refuses it: it is larger than the topic's max.message.bytes"
	if refused.sends {
		b.sends--
		why = "the topic refuses it: with the headers of a replay it is larger than the topic's max.message.bytes"
	}
	s.undecide(refused)
	l := refused.letter // refused lies in what is moved now
	b.skips = append(b.skips, Skip{ID: l.ID, Why: why})
	b.forget(l.ID)
	b.staged = slices.DeleteFunc(b.staged, func(d staged) bool { return d.letter == l })
}
