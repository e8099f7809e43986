package engine

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
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/instance"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/kafka"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/partition"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/session"
	"github.com/switchback-geo/switchback/pkg/retrytopics/statetopic"
)

// Engine runs a handler over a topic with tiered retry topics and a DLQ, exactly once. Make one with New, and run it
// once or several times, one run at a time. Its methods are safe for concurrent use.
type Engine struct {
	in      *instance.Instance
	current atomic.Pointer[session.Session]
	running atomic.Bool // Run or RunUntilEnd is running
	pausing sync.Mutex  // a session does not begin while the engine is being paused or resumed
}

// New checks the configuration and reports all faults at once. It does no I/O.
func New(cfg retrytopics.Config) (*Engine, error) {
	complete, err := cfg.Complete()
	if err != nil {
		return nil, fmt.Errorf("retrytopics: %w", err)
	}
	return &Engine{in: instance.New(complete)}, nil
}

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
	if s := e.current.Load(); s != nil && s.Committer != nil {
		s.Committer.Client().ForceRebalance()
	}
}

// run is Run. A bounded run does not wait for a missing permission.
func (e *Engine) run(ctx context.Context, bounded bool) error {
	if !e.running.CompareAndSwap(false, true) {
		return errRunning
	}
	defer e.running.Store(false)
	e.in.Health.Begin()
	defer e.leave(ctx)
	var fences []time.Time
	for wait := e.in.Intervals.Restart; ; wait = min(2*wait, restartMax) {
		began := time.Now()
		err := e.once(ctx)
		refused := kafka.Denied(err)
		switch {
		case err == nil, lasting(err), refused && (bounded || !e.in.Health.WasHealthy() && !errors.Is(err, session.ErrAborts)):
			return err
		case ctx.Err() != nil:
			e.in.Cfg.Logger.WarnContext(ctx, "stopped without a last commit; its records will be reprocessed by the next owner", "error", err)
			return nil //nolint:nilerr // told to stop, and nothing is lost
		case kafka.Fenced(err):
			fences = append(fences, time.Now())
			if n := len(fences); n >= maxFences && time.Since(fences[n-maxFences]) < fenceWindow {
				return fmt.Errorf("%w %q (Membership.Instance): %w", ErrFenced, e.in.Cfg.TransactionalID(), err)
			}
		}
		if time.Since(began) > restartMax {
			wait = e.in.Intervals.Restart
		}
		pause := wait/2 + rand.N(wait/2)
		if refused {
			e.in.Health.Refused(e.in.Cfg.Logger, err)
			pause = max(pause, e.in.Health.Waits())
		} else {
			e.in.Cfg.Logger.WarnContext(ctx, "session ended, starting a new one", "error", err, "wait", pause.String())
		}
		if !instance.Sleep(ctx, pause) {
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
	late := time.NewTimer(e.in.Cfg.Timing.Shutdown)
	defer late.Stop()
	select {
	case err := <-ended:
		return err
	case <-late.C:
		return fmt.Errorf("%w %v after it was told to", errHangs, e.in.Cfg.Timing.Shutdown)
	}
}

// errHangs means that a session does not end.
var errHangs = errors.New("a handler or a broker hangs: the session has not ended")

func (e *Engine) session(ctx context.Context) error {
	s, err := session.New(ctx, e.in)
	if err != nil {
		return err
	}
	e.enter(s)
	defer e.current.Store(nil)
	return s.Run(ctx)
}

// lasting reports whether a new session would meet the same error again.
func lasting(err error) bool {
	for _, e := range []error{
		ErrTopics, ErrGroup, ErrLogTruncated, partition.ErrMemory, partition.ErrAlienMemory, retrytopics.ErrNewerMetadata, statetopic.ErrNewer, idempotency.ErrNewerLedger, kafka.ErrOptions,
		kerr.InvalidSessionTimeout, kerr.SaslAuthenticationFailed, kerr.UnsupportedForMessageFormat,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
