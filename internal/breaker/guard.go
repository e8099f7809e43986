package breaker

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// outageCodes lists what a service that is down looks like. A status counts only while it is retryable at all.
func outageCodes() []classify.Code {
	return []classify.Code{
		classify.CodeTimeout, classify.CodeConnectionRefused, classify.CodeConnectionReset, classify.CodeDNS, classify.CodeNetwork,
		classify.CodeHTTPBadGateway, classify.CodeHTTPUnavailable, classify.CodeHTTPGatewayTimeout, classify.CodeHTTPServerError,
		classify.CodeDBUnavailable,
	}
}

// Counts says whether a breaker counts a failure of its service: it looks like a service that is down.
func Counts(f classify.Failure) bool {
	return f.Transient() && slices.Contains(outageCodes(), f.Code)
}

// Judge says what the outcome of a request says about the service.
func Judge(err error, classifier func(error) classify.Failure) Outcome {
	if err == nil {
		return Success
	}
	return JudgeFailure(classifier(err))
}

// JudgeFailure is [Judge] for a failure that is classified.
func JudgeFailure(f classify.Failure) Outcome {
	switch {
	case f.Code == classify.CodeCanceled:
		return Ignored
	case Counts(f):
		return Failure
	case f.Code == classify.CodeBadResponse, slices.Contains(outageCodes(), f.Code):
		return Inconclusive // a page of a proxy, a 500 that is not retryable: no reason to open, and none to close
	default:
		return Success
	}
}

// Guard stops the requests to one service while it is down (S4-5). A nil Guard lets everything pass. Its methods may be called
// from many goroutines.
type Guard struct {
	name  string // of the dependency: records are held by it
	log   *slog.Logger
	began time.Time

	mu      sync.Mutex
	circuit *Circuit
	cause   string // of the latest [Guard.Trip] since the breaker was closed last
}

// NewGuard makes a guard with a breaker that is closed, or nil when none is configured. Records are held by the name, and log
// hears when the breaker opens and closes.
func NewGuard(name string, c *config.Breaker, log *slog.Logger) *Guard {
	if c == nil {
		return nil
	}
	return &Guard{name: name, log: log, began: time.Now(), circuit: NewCircuit(*c)}
}

// Retune gives the breaker another rule, see [Circuit.Retune].
func (g *Guard) Retune(rule config.Breaker) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.circuit.Retune(rule)
}

func (g *Guard) now() time.Duration { return time.Since(g.began) }

// Enter asks for leave to send one request. The pass has to be given back with the request's outcome.
func (g *Guard) Enter() (Pass, error) {
	if g == nil {
		return Pass{}, nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.held(); err != nil {
		return Pass{}, err
	}
	return g.circuit.Enter(), nil
}

// Check says, without asking for anything, what Enter would say.
func (g *Guard) Check() error {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.held()
}

// held is nil when a request may be sent now. The mutex is held.
func (g *Guard) held() error {
	if wait, held := g.circuit.Held(g.now()); held {
		return g.hold(wait, nil)
	}
	return nil
}

func (g *Guard) hold(wait time.Duration, cause error) error {
	return &retrytopics.UnavailableError{Dependency: g.name, RetryAt: time.Now().Add(wait), Err: cause}
}

// Leave takes a pass back and gives the error that the record is to have: its own, or, when it failed because the service
// is known to be down, an UnavailableError around it.
func (g *Guard) Leave(ctx context.Context, p Pass, end Outcome, err error) error {
	if g == nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	was, opened := g.circuit.IsOpen(), g.circuit.Opened()
	known := g.circuit.Leave(g.now(), p, end)
	g.tell(ctx, was, g.circuit.Opened() > opened, err)
	if known {
		return g.hold(max(g.circuit.Until()-g.now(), 0), err)
	}
	return err
}

// Trip takes a pass back and opens the breaker at once: one failure is enough where nobody's request can succeed until somebody
// acts. It gives the UnavailableError of the record. A nil Guard gives the error itself.
func (g *Guard) Trip(ctx context.Context, p Pass, err error) error {
	if g == nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	was, news := g.circuit.IsOpen(), err.Error() != g.cause
	if !was || p.Probe { // else it opened while the request was under way
		g.circuit.Trip(g.now())
		g.tell(ctx, was, true, err)
	}
	if g.cause = err.Error(); was && news {
		g.log.WarnContext(ctx, "the service cannot be used until somebody acts", "probe_in", (g.circuit.Until() - g.now()).String(), "error", err)
	}
	return g.hold(max(g.circuit.Until()-g.now(), 0), err)
}

// Hold is an UnavailableError for a record that fails for a reason that it may not be to blame for. The breaker stays as it is.
func (g *Guard) Hold(wait time.Duration, cause error) error { return g.hold(wait, cause) }

// tell logs that the breaker opened or closed, or that a probe failed. The mutex is held.
func (g *Guard) tell(ctx context.Context, was, tripped bool, err error) {
	open := []any{
		"circuit_open", true, "governance_status", "blocked", "probe_in", (g.circuit.Until() - g.now()).String(), "error", err,
	}
	switch {
	case tripped && was:
		g.log.DebugContext(ctx, "probe failed; the circuit breaker stays open", open...)
	case tripped:
		g.log.WarnContext(ctx, "circuit breaker opened; records that need the service are held and spend no attempts", open...)
	case was && !g.circuit.IsOpen():
		g.cause = ""
		g.log.InfoContext(ctx, "circuit breaker closed; the service answers again", "circuit_open", false)
	}
}

// State gives the state of the breaker, and how long nothing is sent.
func (g *Guard) State() (State, time.Duration) {
	if g == nil {
		return StateNone, 0
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	switch wait := g.circuit.Until() - g.now(); {
	case !g.circuit.IsOpen():
		return StateClosed, 0
	case g.circuit.HalfOpen():
		return StateHalfOpen, 0
	default:
		return StateOpen, max(wait, 0)
	}
}

// State is the state of a circuit breaker. It is a closed list (see [States]).
type State string

// The states.
const (
	StateNone     State = "none"      // no breaker is configured
	StateClosed   State = "closed"    // requests are sent
	StateOpen     State = "open"      // nothing is sent until the cooldown is over
	StateHalfOpen State = "half_open" // one request at a time probes
)

// States lists every state.
func States() []State { return []State{StateNone, StateClosed, StateOpen, StateHalfOpen} }
