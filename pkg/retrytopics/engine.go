package retrytopics

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/kafka"
	"github.com/switchback-geo/switchback/pkg/retrytopics/statetopic"
)

// Engine runs a handler over a topic with tiered retry topics and a DLQ, exactly once. Make one with New, and run it
// once or several times, one run at a time. Its methods are safe for concurrent use.
type Engine struct {
	in      *instance
	current atomic.Pointer[session]
	running atomic.Bool // Run or RunUntilEnd is running
	pausing sync.Mutex  // a session does not begin while the engine is being paused or resumed
}

// New checks the configuration and reports all faults at once. It does no I/O.
func New(cfg Config) (*Engine, error) {
	complete, err := cfg.Complete()
	if err != nil {
		return nil, fmt.Errorf("retrytopics: %w", err)
	}
	return &Engine{in: newInstance(complete)}, nil
}

// ErrGroup is wrapped when the consumer group belongs to another pipeline. Its leader assigns partitions of its own
// source only, so this engine would silently get nothing.
var ErrGroup = kafka.ErrForeignGroup

// ErrFenced is wrapped when another instance repeatedly takes over this one's transactional ID.
var ErrFenced = errors.New("another instance uses the same transactional id")

const (
	restartMax  = 4 * time.Second
	maxFences   = 3 // within fenceWindow
	fenceWindow = 5 * time.Minute
)

// Run consumes until the context ends. Then it lets running handlers finish, commits their results, leaves the group and
// returns nil. Run survives a lost broker, an expired transaction or a fenced producer with a new session. If a
// permission is taken away while it runs, it is blocked until the permission is back, see Stats.Blocked. Run returns an
// error if the topics do not fit, if the cluster does not allow it to read at the start, and later only if a person must
// act. An engine that has handled records but may not write their results waits, because handlers would run again after
// a restart.
func (e *Engine) Run(ctx context.Context) error { return e.run(ctx, false) }

// Rejoin joins the group again, so that its members publish the current value of Membership.Announce. No partition
// moves. Without a session it does nothing: the next session joins anyway.
func (e *Engine) Rejoin() {
	if s := e.current.Load(); s != nil && s.committer != nil {
		s.committer.Client().ForceRebalance()
	}
}

// errRunning is the error of a second concurrent Run: both would be one member of the group.
var errRunning = errors.New("retrytopics: the engine is running already; make another one for another instance")

// run is Run. A bounded run does not wait for a missing permission.
func (e *Engine) run(ctx context.Context, bounded bool) error {
	if !e.running.CompareAndSwap(false, true) {
		return errRunning
	}
	defer e.running.Store(false)
	e.in.health.begin()
	defer e.leave(ctx)
	var fences []time.Time
	for wait := e.in.intervals.restart; ; wait = min(2*wait, restartMax) {
		began := time.Now()
		err := e.once(ctx)
		refused := kafka.Denied(err)
		switch {
		case err == nil, lasting(err), refused && (bounded || !e.in.health.wasHealthy() && !errors.Is(err, errAborts)):
			return err
		case ctx.Err() != nil:
			e.in.cfg.Logger.WarnContext(ctx, "stopped without a last commit; its records will be reprocessed by the next owner", "error", err)
			return nil //nolint:nilerr // told to stop, and nothing is lost
		case kafka.Fenced(err):
			fences = append(fences, time.Now())
			if n := len(fences); n >= maxFences && time.Since(fences[n-maxFences]) < fenceWindow {
				return fmt.Errorf("%w %q (Membership.Instance): %w", ErrFenced, e.in.cfg.TransactionalID(), err)
			}
		}
		if time.Since(began) > restartMax {
			wait = e.in.intervals.restart
		}
		pause := wait/2 + rand.N(wait/2)
		if refused {
			e.in.health.refused(e.in.cfg.Logger, err)
			pause = max(pause, e.in.health.waits())
		} else {
			e.in.cfg.Logger.WarnContext(ctx, "session ended, starting a new one", "error", err, "wait", pause.String())
		}
		if !sleep(ctx, pause) {
			return nil
		}
	}
}

// once runs one session to its end. After a stop it waits no longer than Timing.Shutdown: a handler that ignores its
// context, or a broker that hangs, keeps goroutines but does not block the caller.
func (e *Engine) once(ctx context.Context) error {
	ended := make(chan error, 1)
	go func() { ended <- e.session(ctx) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	late := time.NewTimer(e.in.cfg.Timing.Shutdown)
	defer late.Stop()
	select {
	case err := <-ended:
		return err
	case <-late.C:
		return fmt.Errorf("%w %v after it was told to", errHangs, e.in.cfg.Timing.Shutdown)
	}
}

// errHangs means that a session does not end.
var errHangs = errors.New("a handler or a broker hangs: the session has not ended")

func (e *Engine) session(ctx context.Context) error {
	s, err := newSession(ctx, e.in)
	if err != nil {
		return err
	}
	e.enter(s)
	defer e.current.Store(nil)
	return s.run(ctx)
}

// lasting reports whether a new session would meet the same error again.
func lasting(err error) bool {
	for _, e := range []error{
		ErrTopics, ErrGroup, ErrLogTruncated, ErrMemory, ErrAlienMemory, ErrNewerMetadata, statetopic.ErrNewer, idempotency.ErrNewerLedger, kafka.ErrOptions,
		kerr.InvalidSessionTimeout, kerr.SaslAuthenticationFailed, kerr.UnsupportedForMessageFormat,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
