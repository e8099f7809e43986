package retrytopics

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/kafka"
)

// Engine runs a handler over a topic with tiered retry topics and a DLQ, exactly once. Make one with New, run it once or
// several times, one run at a time. Its methods are safe for concurrent use.
type Engine struct {
	cfg       Config
	current   atomic.Pointer[session]
	last      atomic.Pointer[Stats]        // of the session that ended
	limits    atomic.Pointer[kafka.Limits] // of the latest session
	former    atomic.Pointer[[]FormerTier] // as the latest session found them
	running   atomic.Bool                  // Run or RunUntilEnd is under way
	results   *results
	intervals intervals
	health    commitHealth
	lost      lost
	pulse     kafka.Pulse
	member    atomic.Pointer[string] // id in the group, of the latest session
	skewed    atomic.Int64

	forgotten forgotten // versions
	doubts    doubts
	seed      maphash.Seed   // of the hash that tells keys apart while they run
	blank     header.Control // of every record that has no control headers; nobody changes it

	pauseMu   sync.Mutex // a session does not begin while the engine comes to a pause or leaves it
	pausedFor atomic.Pointer[string]
}

// New checks the configuration, all faults at once. It does no I/O.
func New(cfg Config) (*Engine, error) {
	given := cfg.given()
	cfg = cfg.withDefaults()
	if err := errors.Join(given, cfg.validate()); err != nil {
		return nil, fmt.Errorf("retrytopics: %w", err)
	}
	e := &Engine{cfg: cfg, intervals: productionIntervals(), health: commitHealth{first: firstWait}, results: newResults(cfg.Limits.HeldBytes / 4), seed: maphash.MakeSeed()}
	e.limits.Store(kafka.NewLimits(kafka.Told{}, e.topics()))
	return e, nil
}

// now is the time by the instance's clock. How long something takes is measured with package time.
func (e *Engine) now() time.Time { return time.Now().Add(e.skew()) }

// skew is how far the instance's clock is ahead of package time's.
func (e *Engine) skew() time.Duration {
	if e.cfg.Timing.ClockSkew == nil {
		return 0
	}
	return e.cfg.Timing.ClockSkew()
}

// transactionalID is stable over restarts of an instance.
func (c *Config) transactionalID() string { return c.Group + "-" + c.Membership.Instance }

func (e *Engine) clientOptions() []kgo.Opt {
	opts := []kgo.Opt{kgo.WithHooks(new(kafka.FetchBrake))}
	if len(e.cfg.Brokers) > 0 {
		opts = append(opts, kgo.SeedBrokers(e.cfg.Brokers...))
	}
	return append(opts, e.cfg.Client.Options...)
}

// tierOf gives the tier number of a topic, as tiers counts them, or sourceLane; ok is false for a topic that is neither.
func (e *Engine) tierOf(topic string) (tier int, ok bool) {
	if topic == e.cfg.Source {
		return sourceTier, true
	}
	for i, t := range e.tiers() {
		if t.Topic == topic {
			return i, true
		}
	}
	return 0, false
}

// ErrFenced is wrapped when another instance keeps taking over this one's transactional id.
var ErrFenced = errors.New("another instance uses the same transactional id")

// errOptions says that the client refuses its options: no later session would fare better.
var errOptions = errors.New("the Kafka client refuses its options")

const (
	restartMin, restartMax = time.Second, 4 * time.Second
	maxFences              = 3 // within fenceWindow
	fenceWindow            = 5 * time.Minute
)

// Run consumes until the context ends; then it lets running handlers finish, commits what they made, leaves the group
// and returns nil. A lost broker, an expired transaction or a fenced producer is survived with a new session. A permission
// that is taken away while it runs blocks it until somebody gives it back, see Stats.Blocked. It returns an error when the
// topics do not fit, when the cluster does not allow it to take records in the first place, and later when only a person can help. One
// that has handled records and may not write their results waits: its end would have them handled again.
func (e *Engine) Run(ctx context.Context) error { return e.run(ctx, false) }

// Rejoin joins the group again, so that its members say what Membership.Announce gives now. No partition moves for it. Without a
// session there is nothing to do: the next one joins.
func (e *Engine) Rejoin() {
	if s := e.current.Load(); s != nil && s.committer != nil {
		s.committer.Client().ForceRebalance()
	}
}

// errRunning is the error of a second Run beside the first: both would be one member of the group.
var errRunning = errors.New("retrytopics: the engine is running already; make another one for another instance")

// run is Run. A bounded one does not wait for somebody to give a permission.
func (e *Engine) run(ctx context.Context, bounded bool) error {
	if !e.running.CompareAndSwap(false, true) {
		return errRunning
	}
	defer e.running.Store(false)
	e.health.begin()
	defer e.leave(ctx)
	var fences []time.Time
	for wait := e.intervals.restart; ; wait = min(2*wait, restartMax) {
		began := time.Now()
		err := e.once(ctx)
		refused := denied(err)
		switch {
		case err == nil, lasting(err), refused && (bounded || !e.health.wasHealthy() && !errors.Is(err, errAborts)):
			return err
		case ctx.Err() != nil:
			e.cfg.Logger.WarnContext(ctx, "stopped without a last commit; its records will be reprocessed by the next owner", "error", err)
			return nil //nolint:nilerr // told to stop, and nothing is lost
		case fenced(err):
			fences = append(fences, time.Now())
			if n := len(fences); n >= maxFences && time.Since(fences[n-maxFences]) < fenceWindow {
				return fmt.Errorf("%w %q (Membership.Instance): %w", ErrFenced, e.cfg.transactionalID(), err)
			}
		}
		if time.Since(began) > restartMax {
			wait = e.intervals.restart
		}
		pause := wait/2 + rand.N(wait/2)
		if refused {
			e.health.refused(e.cfg.Logger, err)
			pause = max(pause, e.health.waits())
		} else {
			e.cfg.Logger.WarnContext(ctx, "session ended, starting a new one", "error", err, "wait", pause.String())
		}
		if !sleep(ctx, pause) {
			return nil
		}
	}
}

func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// once runs one session to its end. Once the engine is told to stop, it does not wait longer than for Timing.Shutdown: a
// handler that ignores its context, or a broker that hangs, keeps goroutines, but not the caller.
func (e *Engine) once(ctx context.Context) error {
	ended := make(chan error, 1)
	go func() { ended <- e.session(ctx) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	late := time.NewTimer(e.cfg.Timing.Shutdown)
	defer late.Stop()
	select {
	case err := <-ended:
		return err
	case <-late.C:
		return fmt.Errorf("%w %v after it was told to", errHangs, e.cfg.Timing.Shutdown)
	}
}

// errHangs says that a session does not end.
var errHangs = errors.New("a handler or a broker hangs: the session has not ended")

func (e *Engine) session(ctx context.Context) error {
	s, err := e.newSession(ctx)
	if err != nil {
		return err
	}
	e.enter(s)
	defer e.current.Store(nil)
	return s.run(ctx)
}

// lasting says whether a new session would meet the same error, for ever.
func lasting(err error) bool {
	for _, e := range []error{
		ErrTopics, ErrGroup, ErrLogTruncated, ErrMemory, ErrAlienMemory, ErrNewerMetadata, ErrNewerState, idempotency.ErrNewerLedger, errOptions,
		kerr.InvalidSessionTimeout, kerr.SaslAuthenticationFailed, kerr.UnsupportedForMessageFormat,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

func fenced(err error) bool {
	return errors.Is(err, kerr.ProducerFenced) || errors.Is(err, kerr.InvalidProducerEpoch) || errors.Is(err, kerr.FencedInstanceID)
}
