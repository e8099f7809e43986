package replay

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

// ErrLeased marks a change that did not begin because another replayer of this source topic is running. Match it with
// errors.Is; [LeasedError] names the replayer.
var ErrLeased = errors.New("another replayer is at work")

// LeasedError names the replayer that is running.
type LeasedError struct{ By control.Lease }

// Error says which replayer is running, since when and for which operation, and what to do.
func (e *LeasedError) Error() string {
	return fmt.Sprintf("%v on the dead letters of this pipeline: %s; nothing was changed. Wait for it with --wait-for-lease 10m, or end it on purpose with --take-over", ErrLeased, e.By)
}

// Is makes errors.Is(err, ErrLeased) true.
func (e *LeasedError) Is(target error) bool { return target == ErrLeased }

const (
	leaseRenewal = 2 * time.Second  // time between two renewals
	leaseLife    = 10 * time.Second // time without a renewal after which a lease has expired
	leaseLook    = 250 * time.Millisecond
)

// lease is the lease of one command over all its sessions. The transactional ID, not the lease, keeps two replayers
// from writing at once. The lease tells a starting replayer about a running one before it fences that one, and tells
// the fenced replayer who fenced it.
type lease struct {
	service   *Service
	state     leaseState
	record    control.Lease // the lease that this replayer writes
	waiting   func(holder string)
	announced string // token of the lease for which Waiting was last called
	job       *job   // job whose record each renewal writes; nil if the operation has no job
	leases    *control.Leases
	end       func(error)        // ends the command if the lease cannot be renewed or an operator cancels; set before a session begins
	stop      context.CancelFunc // ends the renewals; nil before the first write
	done      sync.WaitGroup
}

func (s *Service) newLease(op operation.Operation) *lease {
	token := operation.NewID("lease", s.now())
	return &lease{
		service: s, waiting: op.Lease.Waiting,
		state: leaseState{token: token, life: s.leaseLife, takeOver: op.Lease.TakeOver, wait: op.Lease.Wait, began: time.Now()},
		record: control.Lease{
			Token: token, Owner: op.By + " on " + hostName(), Operation: op.ID, Purpose: op.Word + ": " + op.Reason, Since: s.now(),
		},
		end: func(err error) { s.log.Warn("continuing without a lease", "error", err) }, // default for a short command
	}
}

// view reads the control topic.
func (l *lease) view(ctx context.Context) (control.View, error) {
	view, err := l.service.store.Control(ctx)
	if err != nil {
		return view, fmt.Errorf("read from %s which replayer is at work: %w", l.service.store.ControlName(), err)
	}
	return view, nil
}

// read returns the lease in the control topic, or nil.
func (l *lease) read(ctx context.Context) (*control.Lease, error) {
	view, err := l.view(ctx)
	return view.Lease, err
}

// await waits until no other replayer is running, so that the session may fence all others. It returns a
// [LeasedError], or [ErrFenced] if another replayer took the lease from an earlier session of this command.
func (l *lease) await(ctx context.Context) error {
	l.state.restart()
	for {
		now, err := l.read(ctx)
		if err != nil {
			return err
		}
		switch l.state.observe(now, time.Now()) {
		case leaseTake:
			if l.state.isOthers(now) && !now.Released && !l.state.takeOver {
				l.service.log.Warn("the lease has expired: its holder did not renew it", "lease", now.String())
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
		if err := kafka.Pause(ctx, min(leaseLook, l.service.leaseLife/4)); err != nil {
			return fmt.Errorf("stopped while waiting for another replayer: %w", err)
		}
	}
}

// take writes the lease after the session fenced all other replayers. If another replayer wrote the lease since await
// returned, that one continues and take returns an error.
func (l *lease) take(ctx context.Context) error {
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
		if l.leases, err = l.service.store.OpenLeases(); err != nil {
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
func (l *lease) sign(ctx context.Context, released bool) error {
	record := l.record
	record.Renewed, record.Released = time.Now(), released
	return l.leases.Put(ctx, record)
}

// errUnsigned ends a command whose lease has expired.
var errUnsigned = errors.New("the lease could not be renewed, so another replayer may take over; what was committed stays; run the command again to continue")

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
func (l *lease) renewals(ctx context.Context) {
	life := l.service.leaseLife
	for last := time.Now(); kafka.Pause(ctx, l.service.leaseRenewal) == nil; {
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
			l.end(fmt.Errorf("%w: %w", errUnsigned, err))
			return
		default:
			l.service.log.Warn("the lease was not renewed; trying again", "error", err)
		}
	}
}

// renew writes the lease, unless another replayer has it; then it returns that lease. It ends at the deadline, or
// after one renewal interval if that is later: a broker that does not answer must not block it for longer than a
// lease lives.
func (l *lease) renew(ctx context.Context, deadline time.Time) (taken *control.Lease, err error) {
	if least := time.Now().Add(l.service.leaseRenewal); deadline.Before(least) {
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
		l.service.log.Warn("orders for this job cannot be read; it continues", "job", l.job.record.ID, "error", err)
	default:
		l.job.hear(view, l.end)
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
func (l *lease) refused(by *control.Lease) error {
	if l.state.phase == leaseHeld {
		return &takenOverError{*by, ErrFenced}
	}
	return &LeasedError{*by}
}

// fenced names the replayer that fenced this one. again is true if that replayer gave way, so that this one
// continues.
func (l *lease) fenced(ctx context.Context, err error) (again bool, named error) {
	if _, is := errors.AsType[*takenOverError](err); is {
		return false, err
	}
	now, unread := l.read(ctx)
	switch {
	case unread != nil:
		return false, err
	case l.state.observe(now, time.Now()) != leaseRefuse && l.service.store.Dir() != nil:
		return false, fmt.Errorf("another replayer took over that does not share the directory %s, and two such replayers put everything back twice: %w", l.service.store.ControlName(), err)
	case l.state.observe(now, time.Now()) != leaseRefuse:
		return true, err
	}
	return false, &takenOverError{*now, err}
}

// halt ends the renewals. It reports whether the lease was ever written.
func (l *lease) halt() bool {
	if l.stop == nil {
		return false
	}
	l.stop()
	l.done.Wait()
	return true
}

// endJob writes the final record of the job.
func (l *lease) endJob(ctx context.Context, counts control.JobCounts, cause error) {
	if !l.halt() {
		return // the job never began
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.service.lastWord)
	defer cancel()
	l.job.ends(ctx, l.leases, counts, cause)
}

// release releases the lease if this replayer still has it.
func (l *lease) release(ctx context.Context) {
	if l.leases == nil {
		return
	}
	defer l.leases.Close()
	if !l.halt() {
		return // the first write failed
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.service.lastWord)
	defer cancel()
	now, err := l.read(ctx)
	if err == nil && now != nil && !l.state.isOthers(now) {
		err = l.sign(ctx, true)
	}
	if err != nil {
		l.service.log.Warn("the lease could not be released; the next replayer waits until it expires", "error", err, "after", l.service.leaseLife)
	}
}
