package registry

import (
	"errors"
	"sync"
	"time"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// outage defers records while the registry does not answer, so that they spend no attempts (docs/decisions/0006). Only
// what would have to ask is held: a schema that is known needs no registry.
type outage struct {
	limit int // failures in a row
	pause time.Duration

	mu       sync.Mutex
	failures int // in a row
	until    time.Time
	cause    error
}

// refusal returns why nothing is asked now, or nil.
func (o *outage) refusal() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.failures < o.limit || !time.Now().Before(o.until) {
		return nil
	}
	return o.hold()
}

// note counts the outcome of one request and returns it, as a hold when it is one failure too many. An answer beyond the bound
// holds its record at the first time: it is the registry's fault, and no attempt of the record makes it smaller.
func (o *outage) note(err error) error {
	var failure *Error
	o.mu.Lock()
	defer o.mu.Unlock()
	if !errors.As(err, &failure) || failure.Code != classify.CodeRegistryUnavailable { // an answer, whatever it says
		o.failures = 0
		return err
	}
	o.failures++
	if o.failures >= o.limit {
		o.until, o.cause = time.Now().Add(o.pause), err
		return o.hold()
	}
	if failure.oversize {
		return held(time.Now().Add(o.pause), err)
	}
	return err
}

func (o *outage) hold() error { return held(o.until, o.cause) }

func held(until time.Time, cause error) error {
	return &retrytopics.UnavailableError{Dependency: "schema registry", RetryAt: until, Err: cause}
}
