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

// cache keeps the answers of one provider, and shares one request among equal concurrent questions. Failures are neither
// kept nor shared: each record fails, or is held, by itself.
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
