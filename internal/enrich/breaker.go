package enrich

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/switchback-geo/switchback/internal/circuit"
	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/governance"
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

// CountsAsOutage says whether a breaker counts a failure of its service: it looks like a service that is down.
func CountsAsOutage(f classify.Failure) bool {
	return f.Transient() && slices.Contains(outageCodes(), f.Code)
}

// judge says what the outcome of a request says about the service.
func judge(err error, classifier func(error) classify.Failure) circuit.End {
	if err == nil {
		return circuit.Answered
	}
	switch f := classifier(err); {
	case f.Code == classify.CodeCanceled:
		return circuit.Silent
	case CountsAsOutage(f):
		return circuit.Failed
	default:
		return circuit.Answered
	}
}

// breaker stops the requests to one service while it is down (S4-5). What opens and closes it, package circuit says; here are
// its clock, its log, and the failures that it turns into holds.
type breaker struct {
	name  string // of the step: records are held by it
	log   *slog.Logger
	began time.Time

	mu      sync.Mutex
	circuit *circuit.Breaker
}

// newBreaker gives nil, which lets everything pass, when none is configured.
func newBreaker(step, provider string, c *config.Breaker, log *slog.Logger) *breaker {
	if c == nil {
		return nil
	}
	return &breaker{name: step, log: log.With("step", step, "provider", provider), began: time.Now(), circuit: circuit.New(*c)}
}

func (b *breaker) now() time.Duration { return time.Since(b.began) }

// enter asks for leave to send one request. The pass has to be given back with the request's outcome.
func (b *breaker) enter() (circuit.Pass, error) {
	if b == nil {
		return circuit.Pass{}, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.held(); err != nil {
		return circuit.Pass{}, err
	}
	return b.circuit.Enter(), nil
}

// check says, without asking for anything, what enter would say.
func (b *breaker) check() error {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held()
}

// held is nil when a request may be sent now. The mutex is held.
func (b *breaker) held() error {
	if wait, held := b.circuit.Held(b.now()); held {
		return b.hold(wait, nil)
	}
	return nil
}

func (b *breaker) hold(wait time.Duration, cause error) error {
	return &retrytopics.HoldError{Dependency: b.name, RetryAt: time.Now().Add(wait), Err: cause}
}

// leave takes a pass back and gives the error that the record is to have: its own, or, when it failed because the service
// is known to be down, a HoldError around it.
func (b *breaker) leave(ctx context.Context, p circuit.Pass, end circuit.End, err error) error {
	if b == nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	was, opened := b.circuit.IsOpen(), b.circuit.Opened()
	known := b.circuit.Leave(b.now(), p, end)
	b.tell(ctx, was, b.circuit.Opened() > opened, err)
	if known {
		return b.hold(max(b.circuit.Until()-b.now(), 0), err)
	}
	return err
}

// tell logs that the breaker opened or closed, or that a probe failed. The mutex is held.
func (b *breaker) tell(ctx context.Context, was, tripped bool, err error) {
	open := []any{
		"circuit_open", true, "governance_status", string(governance.StatusBlocked), "probe_in", (b.circuit.Until() - b.now()).String(), "error", err,
	}
	switch {
	case tripped && was:
		b.log.DebugContext(ctx, "probe failed; the circuit breaker stays open", open...)
	case tripped:
		b.log.WarnContext(ctx, "circuit breaker opened; records that need the service are held and spend no attempts", open...)
	case was && !b.circuit.IsOpen():
		b.log.InfoContext(ctx, "circuit breaker closed; the service answers again", "circuit_open", false)
	}
}

// state gives the state, and how long nothing is sent.
func (b *breaker) state() (Circuit, time.Duration) {
	if b == nil {
		return CircuitNone, 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch wait := b.circuit.Until() - b.now(); {
	case !b.circuit.IsOpen():
		return CircuitClosed, 0
	case b.circuit.HalfOpen():
		return CircuitHalfOpen, 0
	default:
		return CircuitOpen, max(wait, 0)
	}
}
