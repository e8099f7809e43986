package replay

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/switchback-geo/switchback/internal/control"
	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// ErrLeased marks a change that was not begun because another replayer of this source topic is at work. Match it with errors.Is;
// [LeasedError] says which.
var ErrLeased = errors.New("another replayer is at work")

// LeasedError names the replayer that is at work.
type LeasedError struct{ By control.Lease }

// Error says who, since when, what for, and what to do.
func (e *LeasedError) Error() string {
	return fmt.Sprintf("%v on the dead letters of this pipeline: %s; nothing was changed. Wait for it with --wait-for-lease 10m, or end it on purpose with --take-over", ErrLeased, e.By)
}

// Is makes errors.Is(err, ErrLeased) true.
func (e *LeasedError) Is(target error) bool { return target == ErrLeased }

// LeaseOptions says what is done when another replayer is at work (docs/decisions/0078).
type LeaseOptions struct {
	TakeOver bool                // end it
	Wait     time.Duration       // for it to end; 0 is not at all
	Waiting  func(holder string) // called once for each replayer that is waited for; may be nil
}

const (
	leaseRenewal = 2 * time.Second  // between two signs of life
	leaseLife    = 10 * time.Second // without a sign of life, after which a lease is nobody's
	leaseLook    = 250 * time.Millisecond
)

// claim is one command's hold on the lease, over all of its sessions. Nothing of it keeps two from writing at once, that does the
// transactional id: it tells the second one before it fences the first, and the first one by whom it was fenced.
type claim struct {
	service *Service
	mu      sync.Mutex
	mine    control.Lease // its generation under mu
	options LeaseOptions
	begun   time.Time
	leases  *control.Leases
	held    bool               // this one has held the lease
	stop    context.CancelFunc // ends the renewal; nil before the first one
	end     func(error)        // ends the command, once no sign of life can be given; set before a session begins
	done    sync.WaitGroup
}

func (s *Service) claim(op operation) *claim {
	end := func(err error) { s.log.Warn("going on without a lease", "error", err) } // of a command that is short
	return &claim{service: s, options: s.lease, begun: time.Now(), end: end, mine: control.Lease{
		Token: newID("lease", s.now()), Owner: op.by + " on " + hostName(), Operation: op.id, Purpose: op.word + ": " + op.reason, Since: s.now(),
	}}
}

// read gives the lease of another replayer that is at work; nil when none is.
func (c *claim) read(ctx context.Context) (*control.Lease, error) {
	last, err := c.last(ctx)
	return c.others(last), err
}

// others gives a lease if it is held by another replayer; else nil.
func (c *claim) others(l *control.Lease) *control.Lease {
	if l == nil || l.Released || l.Token == c.mine.Token {
		return nil
	}
	return l
}

// last gives the lease as it was written last.
func (c *claim) last(ctx context.Context) (*control.Lease, error) {
	view, err := control.Read(ctx, c.service.opts, c.service.cfg.Topics.Control)
	if err != nil {
		return nil, fmt.Errorf("which replayer is at work is in %s (`consumer topics ensure` makes the topic): %w", c.service.cfg.Topics.Control, err)
	}
	return view.Lease, nil
}

// await waits until nobody else is at work. It gives the lease that it passed over: of a replayer that died, or is taken over.
func (c *claim) await(ctx context.Context) (over *control.Lease, err error) {
	var last *control.Lease
	alive, told := false, ""
	for since := time.Now(); ; {
		now, err := c.read(ctx)
		if err != nil || now == nil || c.options.TakeOver {
			return now, err
		}
		switch {
		case last == nil || now.Token != last.Token:
			last, since, alive = now, time.Now(), false
		case !now.Renewed.Equal(last.Renewed):
			last, since, alive = now, time.Now(), true
		case time.Since(since) > c.service.leaseLife:
			c.service.log.Warn("the lease is nobody's: its holder gave no sign of life", "lease", now.String())
			return now, nil
		}
		if alive && time.Since(c.begun) >= c.options.Wait {
			return nil, &LeasedError{*now}
		}
		if alive && told != now.Token && c.options.Waiting != nil {
			c.options.Waiting(now.String())
			told = now.Token
		}
		if err := kafka.Pause(ctx, min(leaseLook, c.service.leaseLife/4)); err != nil {
			return nil, fmt.Errorf("stopped while waiting for another replayer: %w", err)
		}
	}
}

// hold takes the lease after everybody else was fenced, unless one has taken it since over was passed over: that one goes on.
func (c *claim) hold(ctx context.Context, over *control.Lease) error {
	last, err := c.last(ctx)
	if err != nil {
		return err
	}
	if now := c.others(last); now != nil && (over == nil || now.Token != over.Token) {
		return &LeasedError{*now}
	}
	c.follow(last)
	c.options.TakeOver = false // once: who takes over from this one has done so on purpose
	if c.leases == nil {
		if c.leases, err = control.OpenLeases(c.service.opts, c.service.cfg.Topics.Control); err != nil {
			return err
		}
	}
	c.stopRenewal() // of an earlier session: it ends by itself once it sees another replayer's lease
	if err := c.sign(ctx, false); err != nil {
		return err
	}
	c.held = true
	living, stop := context.WithCancel(context.WithoutCancel(ctx))
	c.stop = stop
	c.done.Go(func() { c.live(living) })
	return nil
}

// stopRenewal ends the goroutine that renews the lease, if there is one.
func (c *claim) stopRenewal() {
	if c.stop != nil {
		c.stop()
		c.done.Wait()
		c.stop = nil
	}
}

// follow makes this lease the next one behind another.
func (c *claim) follow(last *control.Lease) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if last != nil && last.Token != c.mine.Token {
		c.mine.Generation = last.Generation + 1
	}
}

// sign writes this one's lease.
func (c *claim) sign(ctx context.Context, released bool) error {
	c.mu.Lock()
	lease := c.mine
	c.mu.Unlock()
	lease.Renewed, lease.Released = time.Now(), released
	return c.leases.Put(ctx, lease)
}

// errUnsigned ends a command that others take for dead.
var errUnsigned = errors.New("no sign of life can be given, and another replayer may take over")

func denied(err error) bool {
	_, yes := errors.AsType[*retrytopics.DeniedError](err)
	return yes
}

// live renews the lease until it is stopped, or until another replayer has taken the lease. The command ends when it may not renew
// the lease any more, or could not for the life of a lease: others take it for dead then.
func (c *claim) live(ctx context.Context) {
	for last := time.Now(); kafka.Pause(ctx, c.service.leaseRenewal) == nil; {
		taken, err := c.renew(ctx, last.Add(c.service.leaseLife))
		switch {
		case taken:
			return
		case err == nil:
			last = time.Now()
		case ctx.Err() != nil:
			return
		case denied(err), time.Since(last) >= c.service.leaseLife:
			c.end(fmt.Errorf("%w: %w", errUnsigned, err))
			return
		default:
			c.service.log.Warn("no sign of life could be given; it is tried again", "error", err)
		}
	}
}

// renew signs the lease, unless another replayer has it (taken). It tries until a time, and for one renewal at least: a broker that
// does not answer must not keep it longer than a lease lives.
func (c *claim) renew(ctx context.Context, until time.Time) (taken bool, err error) {
	if least := time.Now().Add(c.service.leaseRenewal); until.Before(least) {
		until = least
	}
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	if now, err := c.last(ctx); err == nil && c.takenBy(now) {
		return true, nil
	}
	return false, c.sign(ctx, false)
}

// takenBy reports whether a lease is another replayer's.
func (c *claim) takenBy(l *control.Lease) bool { return l != nil && l.Token != c.mine.Token }

// takenOver returns an [ErrFenced] that names the replayer that took the lease since this one held it, also when that replayer has
// ended: a session that lost the broker must not go on behind it.
func (c *claim) takenOver(ctx context.Context) error {
	if !c.held {
		return nil
	}
	now, err := c.last(ctx)
	if err == nil && c.takenBy(now) {
		err = fmt.Errorf("%s took over: %w", now, ErrFenced)
	}
	return err
}

// fenced says by whom this one was fenced. again says that the other one withdrew, so that this one goes on.
func (c *claim) fenced(ctx context.Context, err error) (again bool, said error) {
	now, unread := c.last(ctx)
	switch {
	case unread != nil:
		return false, err
	case !c.takenBy(now):
		return true, err
	}
	return false, fmt.Errorf("%s took over: %w", now, err)
}

// release lets the lease go, if it is still this one's.
func (c *claim) release(ctx context.Context) {
	if c.leases == nil {
		return
	}
	defer c.leases.Close()
	c.stopRenewal()
	if !c.held {
		return // it was never taken: its first signature failed
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer cancel()
	now, err := c.last(ctx)
	if err == nil && now != nil && !c.takenBy(now) {
		err = c.sign(ctx, true)
	}
	if err != nil {
		c.service.log.Warn("the lease could not be given back; the next replayer waits until it is nobody's", "error", err, "after", c.service.leaseLife)
	}
}
