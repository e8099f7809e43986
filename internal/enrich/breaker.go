package enrich

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/failsafe-go/failsafe-go/circuitbreaker"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/governance"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// probePoll is how long a record is held that came while another one was probing: when that probe ends is not known.
const probePoll = 100 * time.Millisecond

// verdict is what the outcome of a request says about the service.
type verdict int

const (
	silent   verdict = iota // nothing: the caller gave up
	answered                // it works, whatever it answered
	failed                  // it is down, or hardly up
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

func judge(err error, classifier func(error) classify.Failure) verdict {
	if err == nil {
		return answered
	}
	switch f := classifier(err); {
	case f.Code == classify.CodeCanceled:
		return silent
	case CountsAsOutage(f):
		return failed
	default:
		return answered
	}
}

// breaker stops the requests to one service while it is down (S4-5). The library counts failures and successes and keeps
// the time; here is what it does not have: one probe at a time, no say for requests that began before the breaker
// opened, and failures that open it turned into holds.
type breaker struct {
	name string // of the step: records are held by it
	log  *slog.Logger

	mu      sync.Mutex
	circuit circuitbreaker.CircuitBreaker[any]
	opened  int // how often; a request knows by it whether it began before
	probing bool
}

// newBreaker gives nil, which lets everything pass, when none is configured.
func newBreaker(step, provider string, c *config.Breaker, log *slog.Logger) *breaker {
	if c == nil {
		return nil
	}
	builder := circuitbreaker.NewBuilder[any]().WithSuccessThreshold(uint(c.Successes)).WithDelay(c.Cooldown.Std())
	if c.FailureRate > 0 {
		builder = builder.WithFailureRateThreshold(c.FailureRate, uint(c.MinRequests), c.Window.Std())
	} else {
		builder = builder.WithFailureThresholdPeriod(uint(c.Failures), c.Window.Std())
	}
	return &breaker{name: step, log: log.With("step", step, "provider", provider), circuit: builder.Build()}
}

// pass allows one request. It has to be given back with its outcome.
type pass struct {
	probe  bool
	opened int
}

// enter asks for leave to send one request.
func (b *breaker) enter() (pass, error) {
	if b == nil {
		return pass{}, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.held(); err != nil {
		return pass{}, err
	}
	p := pass{probe: !b.circuit.IsClosed(), opened: b.opened}
	if p.probe {
		b.circuit.HalfOpen()
		b.probing = true
	}
	return p, nil
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
	switch wait := b.circuit.RemainingDelay(); {
	case b.circuit.IsClosed():
		return nil
	case wait > 0:
		return b.hold(wait, nil)
	case b.probing:
		return b.hold(probePoll, nil)
	default:
		return nil
	}
}

func (b *breaker) hold(wait time.Duration, cause error) error {
	return &retrytopics.HoldError{Dependency: b.name, RetryAt: time.Now().Add(wait), Err: cause}
}

// leave takes a pass back and gives the error that the record is to have: its own, or, when it failed because the service
// is known to be down, a HoldError around it.
func (b *breaker) leave(ctx context.Context, p pass, v verdict, err error) error {
	if b == nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if p.probe {
		b.probing = false
	}
	if p.opened == b.opened {
		b.record(ctx, v, err)
	}
	if v == failed && p.opened != b.opened {
		return b.hold(b.circuit.RemainingDelay(), err)
	}
	return err
}

// record counts an outcome and tells when that opens or closes the breaker. The mutex is held.
func (b *breaker) record(ctx context.Context, v verdict, err error) {
	before := b.circuit.State()
	switch v {
	case answered:
		b.circuit.RecordSuccess()
	case failed:
		b.circuit.RecordFailure()
	case silent:
		return
	}
	switch after := b.circuit.State(); {
	case after == before:
	case after == circuitbreaker.ClosedState:
		b.log.InfoContext(ctx, "circuit breaker closed; the service answers again", "circuit_open", false)
	case before == circuitbreaker.ClosedState:
		b.opened++
		b.log.WarnContext(ctx, "circuit breaker opened; records that need the service are held and spend no attempts",
			"circuit_open", true, "governance_status", string(governance.StatusBlocked), "probe_in", b.circuit.RemainingDelay().String(), "error", err)
	default:
		b.opened++
		b.log.DebugContext(ctx, "probe failed; the circuit breaker stays open",
			"circuit_open", true, "governance_status", string(governance.StatusBlocked), "probe_in", b.circuit.RemainingDelay().String(), "error", err)
	}
}

// state gives the state, and how long nothing is sent.
func (b *breaker) state() (Circuit, time.Duration) {
	if b == nil {
		return CircuitNone, 0
	}
	switch b.circuit.State() {
	case circuitbreaker.OpenState:
		return CircuitOpen, max(b.circuit.RemainingDelay(), 0)
	case circuitbreaker.HalfOpenState:
		return CircuitHalfOpen, 0
	default:
		return CircuitClosed, 0
	}
}
