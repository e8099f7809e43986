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
)

// Engine runs a handler over a topic with tiered retry topics and a DLQ, exactly once. Make one with New, run it once or
// several times, one run at a time. Its methods are safe for concurrent use.
type Engine struct {
	cfg     Config
	current atomic.Pointer[session]
	last    atomic.Pointer[Stats] // of the session that ended
	skewed  atomic.Int64
	seed    maphash.Seed // of the hash that tells keys apart while they run
	blank   Control      // of every record that has no control headers; nobody changes it

	standMu  sync.Mutex // a session does not begin while the engine comes to a standstill or leaves it
	standing atomic.Pointer[string]
}

// New checks the configuration, all faults at once. It does no I/O.
func New(cfg Config) (*Engine, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("retrytopics: %w", err)
	}
	return &Engine{cfg: cfg, seed: maphash.MakeSeed()}, nil
}

// transactionalID is stable over restarts of an instance.
func (c *Config) transactionalID() string { return c.Group + "-" + c.Instance }

func (e *Engine) clientOptions() []kgo.Opt {
	var opts []kgo.Opt
	if len(e.cfg.Brokers) > 0 {
		opts = append(opts, kgo.SeedBrokers(e.cfg.Brokers...))
	}
	return append(opts, e.cfg.ClientOptions...)
}

// tierOf gives the tier number of a topic, or sourceLane; ok is false for a topic that is neither.
func (e *Engine) tierOf(topic string) (tier int, ok bool) {
	if topic == e.cfg.Source {
		return sourceLane, true
	}
	for i, t := range e.cfg.Tiers {
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
// and returns nil. A lost broker, an expired transaction or a fenced producer is survived with a new session. It returns
// an error when the topics do not fit, and later when nothing but a person can mend it.
func (e *Engine) Run(ctx context.Context) error {
	var fences []time.Time
	for wait := restartMin; ; wait = min(2*wait, restartMax) {
		began := time.Now()
		err := e.once(ctx)
		if err == nil || lasting(err) {
			return err
		}
		if ctx.Err() != nil {
			e.cfg.Logger.WarnContext(ctx, "stopped without a last commit; what it would have carried is done again by the next owner", "error", err)
			return nil //nolint:nilerr // told to stop, and nothing is lost
		}
		if fenced(err) {
			fences = append(fences, time.Now())
			if n := len(fences); n >= maxFences && time.Since(fences[n-maxFences]) < fenceWindow {
				return fmt.Errorf("%w %q: give each instance a name of its own: %w", ErrFenced, e.cfg.transactionalID(), err)
			}
		}
		if time.Since(began) > restartMax {
			wait = restartMin
		}
		e.cfg.Logger.WarnContext(ctx, "session ended, starting a new one", "error", err, "wait", wait.String())
		if !sleep(ctx, wait/2+rand.N(wait/2)) {
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

func (e *Engine) once(ctx context.Context) error {
	s, err := e.newSession(ctx)
	if err != nil {
		return err
	}
	e.enter(s)
	defer e.current.Store(nil)
	return s.run(ctx)
}

// lasting says whether a new session would meet the same error.
func lasting(err error) bool {
	var unplaceable *unplaceableError
	return errors.Is(err, ErrTopics) || errors.Is(err, ErrCut) || errors.Is(err, ErrNewerMetadata) || errors.Is(err, ErrNewerState) || errors.Is(err, idempotency.ErrNewerLedger) || errors.As(err, &unplaceable) || errors.Is(err, kerr.InvalidSessionTimeout) || errors.Is(err, errOptions) ||
		errors.Is(err, kerr.TopicAuthorizationFailed) || errors.Is(err, kerr.GroupAuthorizationFailed) ||
		errors.Is(err, kerr.TransactionalIDAuthorizationFailed) || errors.Is(err, kerr.ClusterAuthorizationFailed) ||
		errors.Is(err, kerr.SaslAuthenticationFailed) || errors.Is(err, kerr.UnsupportedForMessageFormat)
}

func fenced(err error) bool {
	return errors.Is(err, kerr.ProducerFenced) || errors.Is(err, kerr.InvalidProducerEpoch) || errors.Is(err, kerr.FencedInstanceID)
}
