package enrich

import (
	"context"
	"crypto/sha256"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/maypok86/otter/v2"
	"golang.org/x/sync/singleflight"

	"github.com/switchback-geo/switchback/internal/breaker"
	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// Outcome is the outcome of one question to a provider. It is a closed list (see [Outcomes]).
type Outcome string

// The outcomes.
const (
	OutcomeAnswered Outcome = "answered" // by the service
	OutcomeCached   Outcome = "cached"   // from the cache
	OutcomePassing  Outcome = "passing"  // it failed transiently
	OutcomeRefused  Outcome = "refused"  // it failed permanently: this record, or this configuration
	OutcomeDeferred Outcome = "deferred" // it was not sent, or failed while the provider was known to be down
)

// Outcomes lists every outcome.
func Outcomes() []Outcome {
	return []Outcome{OutcomeAnswered, OutcomeCached, OutcomePassing, OutcomeRefused, OutcomeDeferred}
}

// Status is a snapshot of one provider of one step.
type Status struct {
	Step     string
	Provider string
	Circuit  breaker.State
	// QuotaKnown is true if the service reports how many requests are left; QuotaLeft is their number.
	QuotaKnown bool
	QuotaLeft  int
	// Requests counts questions by outcome.
	Requests map[Outcome]uint64
	// Fallbacks counts the answers to questions that an earlier provider could not answer.
	Fallbacks uint64
	// Sent counts requests, and Took is how long they took together.
	Sent uint64
	Took time.Duration
	// Advised counts the answers with a rate limit: RateLimit in any of its forms, or Retry-After.
	Advised uint64
}

// Status returns a snapshot of every provider, in the order of steps and providers. It is safe for concurrent use.
func (s *Steps) Status() []Status {
	var out []Status
	for _, step := range s.steps {
		for _, p := range step.providers {
			out = append(out, p.status())
		}
	}
	return out
}

func (p *provider) status() Status {
	s := p.tally.snapshot()
	s.Step, s.Provider = p.step, p.name
	s.Circuit = p.breaker.State()
	s.QuotaLeft, s.QuotaKnown = p.quota.Left()
	return s
}

// tally counts the requests to one provider.
type tally struct {
	mu     sync.Mutex
	status Status
}

func (t *tally) add(o Outcome) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.status.Requests == nil {
		t.status.Requests = map[Outcome]uint64{}
	}
	t.status.Requests[o]++
}

func (t *tally) fellBack() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.status.Fallbacks++
}

func (t *tally) sent(took time.Duration, advised bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.status.Sent++
	t.status.Took += took
	if advised {
		t.status.Advised++
	}
}

// snapshot returns the counts, with every outcome.
func (t *tally) snapshot() Status {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.status
	s.Requests = map[Outcome]uint64{}
	for _, o := range Outcomes() {
		s.Requests[o] = t.status.Requests[o]
	}
	return s
}

// outcome returns the outcome of a question with this error.
func (p *provider) outcome(err error) Outcome {
	switch {
	case err == nil:
		return OutcomeAnswered
	case isDeferral(err):
		return OutcomeDeferred
	case p.transient(err):
		return OutcomePassing
	default:
		return OutcomeRefused
	}
}

// transient reports whether another provider may succeed after a failure (see the package comment).
func (p *provider) transient(err error) bool {
	f := p.classify(err)
	return isDeferral(err) || f.Transient() && f.Code != classify.CodeCanceled
}

// cache keeps the answers of one provider, and shares one request among equal concurrent questions. Failures are
// neither kept nor shared: each record fails, or is deferred, on its own.
type cache struct {
	answers *otter.Cache[digest, transform.Value]
	flights singleflight.Group
}

// digest is the hash of a question, which may be long.
type digest [sha256.Size]byte

// newCache returns nil if no cache is configured.
func newCache(c *config.Cache) (*cache, error) {
	if c == nil {
		return nil, nil //nolint:nilnil // no cache is a cache that is never asked
	}
	if c.TTL <= 0 || c.MaxEntries < 1 {
		return nil, fmt.Errorf("cache has ttl %s and %d max_entries, want each more than 0", c.TTL, c.MaxEntries)
	}
	answers, err := otter.New(&otter.Options[digest, transform.Value]{
		MaximumSize: c.MaxEntries, ExpiryCalculator: otter.ExpiryWriting[digest, transform.Value](c.TTL.Std()),
	})
	if err != nil {
		return nil, fmt.Errorf("cache: %w", err)
	}
	return &cache{answers: answers}, nil
}

func (c *cache) close() {
	if c != nil {
		c.answers.StopAllGoroutines()
	}
}

// get returns the answer to a question from memory or from another caller's request. It calls ask at most once, and
// returns an error of ask only to the caller whose ask it was. Incomplete answers are not kept.
func (c *cache) get(ctx context.Context, key string, ask func(context.Context) (transform.Value, error), whole func(transform.Value) bool) (answer transform.Value, kept bool, err error) {
	k := digest(sha256.Sum256([]byte(key)))
	if answer, ok := c.answers.GetIfPresent(k); ok {
		return answer, true, nil
	}
	led := false
	flight := c.flights.DoChan(string(k[:]), func() (any, error) {
		led = true
		answer, err := guard(ctx, ask)
		if err == nil && whole(answer) {
			c.answers.Set(k, answer)
		}
		return answer, err
	})
	select {
	case end := <-flight:
		if end.Err != nil && !led {
			answer, err := ask(ctx)
			return answer, false, err
		}
		return end.Val.(transform.Value), !led, end.Err
	case <-ctx.Done():
		return transform.Value{}, false, fmt.Errorf("wait for the answer to the same question: %w", ctx.Err())
	}
}

// guard converts a panic to an error. The panic happens in a goroutine of the flight, where nothing else would recover
// it.
func guard(ctx context.Context, ask func(context.Context) (transform.Value, error)) (answer transform.Value, err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &classify.PanicError{Value: value, Stack: debug.Stack()}
		}
	}()
	return ask(ctx)
}
