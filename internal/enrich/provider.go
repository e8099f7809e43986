package enrich

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/retrypolicy"
	"golang.org/x/time/rate"

	"github.com/switchback-geo/switchback/internal/breaker"
	"github.com/switchback-geo/switchback/internal/config"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// lookup is one way to ask a service.
type lookup interface {
	// prepare builds the question for a feature. It sends nothing.
	prepare(f *transform.Feature, contentHash string) (question, error)
	close()
}

// question is what one provider is asked about one feature.
type question struct {
	key  string           // equal questions have equal keys
	what string           // such as "GET https://h/place", without secrets
	asks classify.Request // the same for a failure record: method and URL
	send func(ctx context.Context) (transform.Value, QuotaAdvice, error)
}

// provider is one service with its protection: limits of concurrent requests and of requests per second, a circuit
// breaker, and the service's own quota.
type provider struct {
	step     string
	name     string
	lookup   lookup
	timeout  time.Duration
	turns    chan struct{} // has one entry for each request in flight
	limiter  *rate.Limiter // nil if none is configured
	quota    *QuotaLedger
	breaker  *breaker.Guard                           // nil if none is configured
	retry    retrypolicy.RetryPolicy[transform.Value] // nil for none
	cache    *cache                                   // nil if none is configured
	classify func(error) classify.Failure
	tally    tally
}

// immediateDelay is the range of the pause before a failure of class retry_now is retried, so that requests that
// collided do not collide again.
const (
	immediateDelayLeast = 5 * time.Millisecond
	immediateDelayMost  = 50 * time.Millisecond
)

func newProvider(step config.EnrichStep, c config.Provider, o Options) (*provider, error) {
	lookup, err := newLookup(c)
	if err != nil {
		return nil, err
	}
	g := c.Bounds()
	p := &provider{
		step: step.Name, name: c.Name, lookup: lookup, timeout: g.Timeout.Std(), turns: make(chan struct{}, g.MaxConnections),
		quota: NewQuotaLedger(o.RetryAfterLimit, time.Now), breaker: breaker.NewGuard(step.Name, g.Breaker, o.Logger.With("step", step.Name, "provider", c.Name)), classify: o.Classify,
	}
	if p.cache, err = newCache(g.Cache); err != nil {
		return nil, err
	}
	if g.Rate != nil {
		p.limiter = rate.NewLimiter(rate.Limit(g.Rate.PerSecond), g.Rate.Burst)
	}
	if step.Retries > 0 {
		p.retry = immediate(p, step.Retries)
	}
	return p, nil
}

// immediate returns the policy of immediate retries with this limit.
func immediate(p *provider, retries int) retrypolicy.RetryPolicy[transform.Value] {
	return retrypolicy.NewBuilder[transform.Value]().
		HandleIf(func(_ transform.Value, err error) bool { return err != nil && p.immediate(err) }).
		WithMaxAttempts(retries).
		WithRandomDelay(immediateDelayLeast, immediateDelayMost).
		ReturnLastFailure().
		Build()
}

// newLookup returns the lookup of a provider.
func newLookup(c config.Provider) (lookup, error) {
	if c.HTTP != nil {
		return newHTTPLookup(c.HTTP)
	}
	return newSQLLookup(c.SQL)
}

// immediate reports whether a failure should be retried at once.
func (p *provider) immediate(err error) bool {
	return !isDeferral(err) && p.classify(err).Class == classify.RetryNow
}

func isDeferral(err error) bool {
	_, is := errors.AsType[*retrytopics.UnavailableError](err)
	return is
}

func (p *provider) close() {
	p.lookup.close()
	p.cache.close()
}

// ask returns the answer to a question, from the cache if it is there. whole reports whether an answer is complete.
func (p *provider) ask(ctx context.Context, q question, whole func(transform.Value) bool) (transform.Value, error) {
	if p.cache == nil {
		return p.request(ctx, q)
	}
	answer, kept, err := p.cache.get(ctx, q.key, func(ctx context.Context) (transform.Value, error) { return p.request(ctx, q) }, whole)
	if kept {
		p.tally.add(OutcomeCached)
	}
	return answer, err
}

// request asks the service. It retries a failure of class retry_now here, and repeats no other step of the record
// (S3-4). If that fails again, the record is retried later.
func (p *provider) request(ctx context.Context, q question) (transform.Value, error) {
	once := func() (transform.Value, error) {
		value, err := p.once(ctx, q)
		p.tally.add(p.outcome(err))
		return value, err
	}
	value, err := once()
	if err != nil && p.retry != nil && p.immediate(err) {
		value, err = failsafe.With(p.retry).WithContext(ctx).Get(once)
	}
	if err != nil && p.immediate(err) {
		err = classify.WithClass(classify.RetryBackoff, err)
	}
	return value, err
}

// once sends one request, if it may be sent. Waiting for a turn does not count towards the request's time limit; the
// caller's context bounds both. The breaker is asked last, so that requests that waited while the service went down are
// not sent.
func (p *provider) once(ctx context.Context, q question) (transform.Value, error) {
	select {
	case p.turns <- struct{}{}:
		defer func() { <-p.turns }()
	case <-ctx.Done():
		return transform.Value{}, fmt.Errorf("wait for one of %d connections: %w", cap(p.turns), ctx.Err())
	}
	if err := p.unavailable(); err != nil {
		return transform.Value{}, err
	}
	if err := p.throttle(ctx); err != nil {
		return transform.Value{}, err
	}
	return p.guarded(ctx, q)
}

// unavailable returns the UnavailableError that a request would get now, or nil.
func (p *provider) unavailable() error {
	if err := p.breaker.Check(); err != nil {
		return err
	}
	if wait := p.quota.Wait(); wait > 0 {
		return p.unavailableFor(wait, errQuota)
	}
	return nil
}

func (p *provider) unavailableFor(wait time.Duration, cause error) error {
	return &retrytopics.UnavailableError{Dependency: p.step, RetryAt: time.Now().Add(wait), Err: cause}
}

var (
	errQuota = errors.New("the service reported that its rate limit is used up")
	errRate  = errors.New("the rate of this instance is used up")
)

// throttle enforces the client's own rate limit. A request waits for its turn no longer than its own time limit;
// beyond that its record is deferred, so that it blocks no worker.
func (p *provider) throttle(ctx context.Context) error {
	if p.limiter == nil {
		return nil
	}
	place := p.limiter.Reserve()
	wait := place.Delay()
	if wait > p.timeout {
		place.Cancel()
		return p.unavailableFor(wait, errRate)
	}
	if wait <= 0 {
		return nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		place.Cancel()
		return fmt.Errorf("wait for the rate limit: %w", ctx.Err())
	}
}

// guarded sends a request under the breaker, within the quota and the time limit. It always reports the end to breaker
// and quota: a probe without an end would keep the breaker open forever.
func (p *provider) guarded(ctx context.Context, q question) (value transform.Value, err error) {
	leave, err := p.breaker.Enter()
	if err != nil {
		return transform.Value{}, err
	}
	outcome := breaker.Ignored
	defer func() {
		failure := err
		err = p.breaker.Leave(ctx, leave, outcome, failure)
		if deferred, ok := errors.AsType[*retrytopics.UnavailableError](err); ok && outcome == breaker.Failure && !isDeferral(failure) {
			deferred.Asked, deferred.Err = true, failure
		}
	}()
	ticket, wait := p.quota.Take()
	if wait > 0 {
		return transform.Value{}, p.unavailableFor(wait, errQuota)
	}
	var advice QuotaAdvice
	defer func() {
		if p.quota.Done(ticket, advice) && advice.Pause > 0 && err != nil {
			err = p.unavailableFor(p.quota.Wait(), err) // it was in flight when the service asked for a pause
		}
	}()
	limited, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	began := time.Now()
	value, advice, err = q.send(limited)
	took := time.Since(began)
	p.tally.sent(took, advice.Given)
	outcome = breaker.Judge(err, p.classify)
	return value, classify.WithRequest(p.failedRequest(q, took), err)
}

// failedRequest returns a question in the form of a failure record.
func (p *provider) failedRequest(q question, took time.Duration) classify.Request {
	r := q.asks
	r.Step, r.Provider, r.TookMS = p.step, p.name, classify.Milliseconds(took)
	return r
}
