package enrich

import (
	"context"
	"crypto/sha256"
	"fmt"
	"runtime/debug"

	"github.com/maypok86/otter/v2"
	"golang.org/x/sync/singleflight"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// cache keeps the answers of one provider, and lets those who ask the same at the same time share one request. What fails
// is neither kept nor shared: each record fails, or is held, on its own account.
type cache struct {
	answers *otter.Cache[digest, transform.Value]
	flights singleflight.Group
}

// digest stands for a question, which may be long.
type digest [sha256.Size]byte

// newCache gives nil when none is configured.
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

// get gives the answer to a question from memory, or from somebody's request. ask is called at most once, and its error is
// given only to the caller whose ask it was. An answer that is not whole is not kept.
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

// guard turns a panic into an error: it happens in a goroutine of the flight, where nobody else would catch it.
func guard(ctx context.Context, ask func(context.Context) (transform.Value, error)) (answer transform.Value, err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &classify.PanicError{Value: value, Stack: debug.Stack()}
		}
	}()
	return ask(ctx)
}
