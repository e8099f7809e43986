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

// outageCodes lists the failures of a service that is down. A status counts only if it is retryable.
func outageCodes() []classify.Code {
	return []classify.Code{
		classify.CodeTimeout, classify.CodeConnectionRefused, classify.CodeConnectionReset, classify.CodeDNS, classify.CodeNetwork,
		classify.CodeHTTPBadGateway, classify.CodeHTTPUnavailable, classify.CodeHTTPGatewayTimeout, classify.CodeHTTPServerError,
		classify.CodeDBUnavailable,
	}
}

// Counts reports whether a breaker counts a failure, because it looks like a service that is down.
func Counts(f classify.Failure) bool {
	return f.Transient() && slices.Contains(outageCodes(), f.Code)
}

// Judge returns the effect of a request's result on the breaker of its service.
func Judge(err error, classifier func(error) classify.Failure) Outcome {
	if err == nil {
		return Success
	}
	return JudgeFailure(classifier(err))
}

// JudgeFailure is [Judge] for a classified failure.
func JudgeFailure(f classify.Failure) Outcome {
	switch {
	case f.Code == classify.CodeCanceled:
		return Ignored
	case Counts(f):
		return Failure
	case f.Code == classify.CodeBadResponse, slices.Contains(outageCodes(), f.Code):
		return Inconclusive // a proxy's page, or a 500 that is not retryable: no reason to open or to close
	default:
		return Success
	}
}

// Guard stops the requests to one service while it is down (S4-5). A nil Guard lets every request pass. Its methods
// are safe for concurrent use.
type Guard struct {
	name  string // of the dependency, by which records are deferred
	log   *slog.Logger
	began time.Time

	mu      sync.Mutex
	circuit *Circuit
	cause   string // of the latest [Guard.Trip] since the breaker was last closed
}

// NewGuard returns a guard with a closed breaker, or nil if none is configured. Records are deferred by name; log gets a
// line when the breaker opens and closes.
func NewGuard(name string, c *config.Breaker, log *slog.Logger) *Guard {
	if c == nil {
		return nil
	}
	return &Guard{name: name, log: log, began: time.Now(), circuit: NewCircuit(*c)}
}

// Retune replaces the rule of the breaker, see [Circuit.Retune].
func (g *Guard) Retune(rule config.Breaker) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.circuit.Retune(rule)
}

func (g *Guard) now() time.Duration { return time.Since(g.began) }

// Enter asks for permission to send one request. The pass must be returned with the request's outcome.
func (g *Guard) Enter() (Pass, error) {
	if g == nil {
		return Pass{}, nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.unavailable(); err != nil {
		return Pass{}, err
	}
	return g.circuit.Enter(), nil
}

// Check returns the error that Enter would return, without taking a pass.
func (g *Guard) Check() error {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.unavailable()
}

// unavailable returns nil if a request may be sent now. The mutex is held.
func (g *Guard) unavailable() error {
	if wait, defers := g.circuit.Defers(g.now()); defers {
		return g.unavailableFor(wait, nil)
	}
	return nil
}

func (g *Guard) unavailableFor(wait time.Duration, cause error) error {
	return &retrytopics.UnavailableError{Dependency: g.name, RetryAt: time.Now().Add(wait), Err: cause}
}

// Leave takes a pass back and returns the record's error. That is err or, if the request failed because the service is
// known to be down, an UnavailableError around it.
func (g *Guard) Leave(ctx context.Context, p Pass, end Outcome, err error) error {
	if g == nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	was, opened := g.circuit.IsOpen(), g.circuit.Opened()
	known := g.circuit.Leave(g.now(), p, end)
	g.logChange(ctx, was, g.circuit.Opened() > opened, err)
	if known {
		return g.unavailableFor(max(g.circuit.Until()-g.now(), 0), err)
	}
	return err
}

// Trip takes a pass back and opens the breaker at once: one failure is enough if no request can succeed until an
// operator acts. It returns the record's UnavailableError. A nil Guard returns err.
func (g *Guard) Trip(ctx context.Context, p Pass, err error) error {
	if g == nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	was, news := g.circuit.IsOpen(), err.Error() != g.cause
	if !was || p.Probe { // otherwise it opened while the request was in flight
		g.circuit.Trip(g.now())
		g.logChange(ctx, was, true, err)
	}
	if g.cause = err.Error(); was && news {
		g.log.WarnContext(ctx, "the service cannot be used until an operator acts", "probe_in", (g.circuit.Until() - g.now()).String(), "error", err)
	}
	return g.unavailableFor(max(g.circuit.Until()-g.now(), 0), err)
}

// Defer returns an UnavailableError for a record that may not be the cause of its failure. The breaker does not
// change.
func (g *Guard) Defer(wait time.Duration, cause error) error { return g.unavailableFor(wait, cause) }

// logChange logs that the breaker opened or closed, or that a probe failed. The mutex is held.
func (g *Guard) logChange(ctx context.Context, was, tripped bool, err error) {
	open := []any{
		"circuit_open", true, "governance_status", "blocked", "probe_in", (g.circuit.Until() - g.now()).String(), "error", err,
	}
	switch {
	case tripped && was:
		g.log.DebugContext(ctx, "probe failed; the circuit breaker stays open", open...)
	case tripped:
		g.log.WarnContext(ctx, "circuit breaker opened; records that need the service are deferred and spend no attempts", open...)
	case was && !g.circuit.IsOpen():
		g.cause = ""
		g.log.InfoContext(ctx, "circuit breaker closed; the service answers again", "circuit_open", false)
	}
}

// State returns the state of the breaker.
func (g *Guard) State() State {
	if g == nil {
		return StateNone
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case !g.circuit.IsOpen():
		return StateClosed
	case g.circuit.HalfOpen():
		return StateHalfOpen
	default:
		return StateOpen
	}
}

// State is the state of a circuit breaker. It is a closed list (see [States]).
type State string

// The states.
const (
	StateNone     State = "none"      // no breaker is configured
	StateClosed   State = "closed"    // requests are sent
	StateOpen     State = "open"      // no request is sent until the cooldown ends
	StateHalfOpen State = "half_open" // one request at a time probes
)

// States lists every state.
func States() []State { return []State{StateNone, StateClosed, StateOpen, StateHalfOpen} }
