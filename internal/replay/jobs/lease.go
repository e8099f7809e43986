package jobs

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/switchback-geo/switchback/internal/control"
	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/replay/operation"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// ErrFenced marks a replayer that stopped because another replayer of the same source topic started, or because its
// transaction took too long. Its uncommitted changes are lost.
var ErrFenced = errors.New("another replayer of this source topic took over")

// ErrLeased marks a change that did not begin because another replayer of this source topic is running. Match it with
// errors.Is.
var ErrLeased = errors.New("another replayer is at work")

// Lease is the lease of one command over all its sessions. The transactional ID, not the lease, keeps two replayers
// from writing at once. The lease tells a starting replayer about a running one before it fences that one, and tells
// the fenced replayer who fenced it.
type Lease struct {
	registry  *Registry
	state     leaseState
	record    control.Lease // the lease that this replayer writes
	waiting   func(holder string)
	announced string // token of the lease for which Waiting was last called
	job       *Job   // job whose record each renewal writes; nil if the operation has no job
	leases    *control.Leases
	end       func(error)        // ends the command if the lease cannot be renewed or an operator cancels; set by Context
	stop      context.CancelFunc // ends the renewals; nil before the first write
	done      sync.WaitGroup
}

// NewLease returns the lease of an operation. It writes nothing yet.
func (r *Registry) NewLease(op operation.Operation) *Lease {
	token := operation.NewID("lease", r.Now())
	return &Lease{
		registry: r, waiting: op.Lease.Waiting,
		state: leaseState{token: token, life: r.Life, takeOver: op.Lease.TakeOver, wait: op.Lease.Wait, began: time.Now()},
		record: control.Lease{
			Token: token, Owner: op.By + " on " + r.Host, Operation: op.ID, Purpose: op.Word + ": " + op.Reason, Since: r.Now(),
		},
		end: func(err error) { r.Log.Warn("continuing without a lease", "error", err) }, // default for a short command
	}
}

// Context returns a context that ends when the lease is lost or an operator cancels the job. Its cause says which (see
// [EndedBy]). The caller calls stop when the command has ended.
func (l *Lease) Context(ctx context.Context) (_ context.Context, stop func()) {
	ctx, l.end = context.WithCancelCause(ctx)
	return ctx, func() { l.end(nil) }
}

// EndedBy reports whether the cause of a context's end is that of [Lease.Context].
func EndedBy(cause error) bool {
	return cancelled(cause) || errors.Is(cause, errNotRenewed) || errors.Is(cause, ErrFenced)
}

// Token identifies the lease.
func (l *Lease) Token() string { return l.record.Token }

// StillWaits reports whether the operator still waits for another replayer to end.
func (l *Lease) StillWaits() bool { return l.state.waits(time.Now()) }

// view reads the control topic.
func (l *Lease) view(ctx context.Context) (control.View, error) {
	view, err := l.registry.Store.Control(ctx)
	if err != nil {
		return view, fmt.Errorf("read from %s which replayer is at work: %w", l.registry.Store.ControlName(), err)
	}
	return view, nil
}

// read returns the lease in the control topic, or nil.
func (l *Lease) read(ctx context.Context) (*control.Lease, error) {
	view, err := l.view(ctx)
	return view.Lease, err
}

// Await waits until no other replayer is running, so that the session may fence all others. It returns a
// [ErrLeased], or [ErrFenced] if another replayer took the lease from an earlier session of this command.
func (l *Lease) Await(ctx context.Context) error {
	l.state.restart()
	for {
		now, err := l.read(ctx)
		if err != nil {
			return err
		}
		switch l.state.observe(now, time.Now()) {
		case leaseTake:
			if l.state.isOthers(now) && !now.Released && !l.state.takeOver {
				l.registry.Log.Warn("the lease has expired: its holder did not renew it", "lease", now.String())
			}
			return nil
		case leaseRefuse:
			return l.refused(now)
		case leaseWait:
		}
		if l.state.alive && l.announced != now.Token && l.waiting != nil {
			l.waiting(now.String())
			l.announced = now.Token
		}
		if err := kafka.Pause(ctx, min(leaseLook, l.registry.Life/4)); err != nil {
			return fmt.Errorf("stopped while waiting for another replayer: %w", err)
		}
	}
}

// Take writes the lease after the session fenced all other replayers. If another replayer wrote the lease since
// [Lease.Await] returned, that one continues and Take returns an error.
func (l *Lease) Take(ctx context.Context) error {
	view, err := l.view(ctx)
	if err != nil {
		return err
	}
	now := view.Lease
	if l.state.observe(now, time.Now()) != leaseTake {
		return l.refused(now)
	}
	if l.state.phase == leaseHeld {
		return nil // the renewals run already
	}
	if l.state.isOthers(now) {
		l.record.Generation = now.Generation + 1
	}
	if l.leases == nil {
		if l.leases, err = l.registry.Store.OpenLeases(); err != nil {
			return err
		}
	}
	if err := l.sign(ctx, false); err != nil {
		return err
	}
	l.state.signed()
	if l.job != nil {
		l.job.begins(ctx, l.leases, view)
	}
	living, stop := context.WithCancel(context.WithoutCancel(ctx))
	l.stop = stop
	l.done.Go(func() { l.renewals(living) })
	return nil
}

// sign writes the lease of this replayer.
func (l *Lease) sign(ctx context.Context, released bool) error {
	record := l.record
	record.Renewed, record.Released = time.Now(), released
	return l.leases.Put(ctx, record)
}

// errNotRenewed ends a command whose lease has expired.
var errNotRenewed = errors.New("the lease could not be renewed, so another replayer may take over; what was committed stays; run the command again to continue")

func denied(err error) bool {
	_, yes := errors.AsType[*retrytopics.DeniedError](err)
	return yes
}

// renewals renews the lease until ctx ends. It ends the command in three cases:
//
//   - Another replayer took the lease before this one reached all its dead letters. The command may wait for the
//     consumer or for an order, and would never learn of it otherwise.
//   - The broker refuses the renewal.
//   - The lease has expired. A process that slept for that long tries once more.
func (l *Lease) renewals(ctx context.Context) {
	life := l.registry.Life
	for last := time.Now(); kafka.Pause(ctx, l.registry.Renewal) == nil; {
		began := time.Now()
		taken, err := l.renew(ctx, last.Add(life))
		switch {
		case taken != nil:
			if l.job == nil || !l.job.reachedAll() {
				l.end(&takenOverError{*taken, ErrFenced})
			}
			return
		case ctx.Err() != nil:
			return
		case err == nil:
			last = time.Now()
		case denied(err), began.Sub(last) >= life:
			l.end(fmt.Errorf("%w: %w", errNotRenewed, err))
			return
		default:
			l.registry.Log.Warn("the lease was not renewed; trying again", "error", err)
		}
	}
}

// renew writes the lease, unless another replayer has it; then it returns that lease. It ends at the deadline, or
// after one renewal interval if that is later: a broker that does not answer must not block it for longer than a
// lease lives.
func (l *Lease) renew(ctx context.Context, deadline time.Time) (taken *control.Lease, err error) {
	if least := time.Now().Add(l.registry.Renewal); deadline.Before(least) {
		deadline = least
	}
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	view, err := l.view(ctx)
	switch {
	case err == nil && l.state.isOthers(view.Lease):
		return view.Lease, nil
	case l.job == nil, err != nil && ctx.Err() != nil:
	case err != nil:
		l.registry.Log.Warn("orders for this job cannot be read; it continues", "job", l.job.record.ID, "error", err)
	default:
		l.job.receive(view, l.end)
	}
	if err := l.sign(ctx, false); err != nil || l.job == nil {
		return nil, err
	}
	if err := l.job.write(ctx, l.leases); ctx.Err() == nil {
		l.job.warn(err)
	}
	return nil, nil
}

// takenOverError is [ErrFenced] with the replayer that took the lease from this one.
type takenOverError struct {
	by    control.Lease
	cause error
}

func (e *takenOverError) Error() string { return fmt.Sprintf("%s took over: %v", e.by, e.cause) }

// Unwrap returns the error that this replayer received.
func (e *takenOverError) Unwrap() error { return e.cause }

// refused returns the error that names the replayer because of which this one writes nothing.
func (l *Lease) refused(by *control.Lease) error {
	if l.state.phase == leaseHeld {
		return &takenOverError{*by, ErrFenced}
	}
	return fmt.Errorf("%w on the dead letters of this pipeline: %s; nothing was changed. Wait for it with --wait-for-lease 10m, or end it on purpose with --take-over", ErrLeased, by)
}

// Fenced names the replayer that fenced this one. again is true if that replayer gave way, so that this one
// continues.
func (l *Lease) Fenced(ctx context.Context, err error) (again bool, named error) {
	if _, is := errors.AsType[*takenOverError](err); is {
		return false, err
	}
	now, unread := l.read(ctx)
	switch {
	case unread != nil:
		return false, err
	case l.state.observe(now, time.Now()) != leaseRefuse && l.registry.Store.Dir() != nil:
		return false, fmt.Errorf("another replayer took over that does not share the directory %s, and two such replayers put everything back twice: %w", l.registry.Store.ControlName(), err)
	case l.state.observe(now, time.Now()) != leaseRefuse:
		return true, err
	}
	return false, &takenOverError{*now, err}
}

// Check reads the lease and returns an error if another replayer took it.
func (l *Lease) Check(ctx context.Context) error {
	now, err := l.read(ctx)
	if err == nil && l.state.isOthers(now) {
		err = l.refused(now)
	}
	return err
}

// halt ends the renewals. It reports whether the lease was ever written.
func (l *Lease) halt() bool {
	if l.stop == nil {
		return false
	}
	l.stop()
	l.done.Wait()
	return true
}

// EndJob writes the final record of the job: its state and counts, and the error that ended it, if any.
func (l *Lease) EndJob(ctx context.Context, state control.JobState, counts control.JobCounts, cause error) {
	if !l.halt() {
		return // the job never began
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.registry.LastWrite)
	defer cancel()
	l.job.ends(ctx, l.leases, state, counts, cause)
}

// Release releases the lease if this replayer still has it.
func (l *Lease) Release(ctx context.Context) {
	if l.leases == nil {
		return
	}
	defer l.leases.Close()
	if !l.halt() {
		return // the first write failed
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.registry.LastWrite)
	defer cancel()
	now, err := l.read(ctx)
	if err == nil && now != nil && !l.state.isOthers(now) {
		err = l.sign(ctx, true)
	}
	if err != nil {
		l.registry.Log.Warn("the lease could not be released; the next replayer waits until it expires", "error", err, "after", l.registry.Life)
	}
}
