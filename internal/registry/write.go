package registry

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/sr"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// writing is a schema of outputs: its subject, its text, and whether it may be registered.
type writing struct {
	subject, text string
	register      bool
}

// issued is the ID of a schema of outputs, or the reason for its absence, and until when.
type issued struct {
	number int
	err    error
	until  time.Time // of an error; an id stays
}

// passes reports whether the registry did not answer, so that the request must be repeated.
func (i issued) passes() bool {
	_, deferred := errors.AsType[*retrytopics.UnavailableError](i.err)
	failure, is := errors.AsType[*Error](i.err)
	return deferred || is && failure.Code == classify.CodeRegistryUnavailable
}

// Register returns the ID of an Avro schema under a subject, and registers the schema if the registry does not have it.
// The errors are those of [Client.SchemaByID], of the encode stage, and an [*Error] of code schema_mismatch for a schema
// that the registry refuses. The client requests an ID once, and caches a refusal as long as an unknown ID.
func (c *Client) Register(ctx context.Context, subject, text string) (int, error) {
	return c.idOf(ctx, writing{subject, text, true})
}

// Lookup is [Client.Register] for a registry that only others may write to: an unknown schema is a schema_mismatch.
func (c *Client) Lookup(ctx context.Context, subject, text string) (int, error) {
	return c.idOf(ctx, writing{subject, text, false})
}

func (c *Client) idOf(ctx context.Context, w writing) (int, error) {
	if known, ok := c.knownID(w); ok {
		return known.number, known.err
	}
	if err := c.guard.Check(); err != nil {
		return 0, err
	}
	flight := c.flights.DoChan(fmt.Sprintf("%t %q %q", w.register, w.subject, w.text), func() (any, error) {
		if known, ok := c.knownID(w); ok { // by another flight meanwhile
			return known.number, known.err
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*c.rules.Timeout.Std())
		defer cancel()
		return c.askID(ctx, w)
	})
	select {
	case result := <-flight:
		number, _ := result.Val.(int)
		return number, result.Err
	case <-ctx.Done():
		return 0, fmt.Errorf("schema registry: wait for the id of a schema of %q: %w", w.subject, ctx.Err())
	}
}

func (c *Client) knownID(w writing) (issued, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known, ok := c.written[w]
	return known, ok && (known.err == nil || time.Now().Before(known.until))
}

// askID requests the id and stores the answer, if there is one.
func (c *Client) askID(ctx context.Context, w writing) (int, error) {
	schema := sr.Schema{Schema: w.text, Type: sr.TypeAvro}
	ask, what := c.client.LookupSchema, "look up a schema under "
	if w.register {
		ask, what = c.client.CreateSchema, "register a schema under "
	}
	var answer issued
	answer.err = c.guarded(ctx, func(ctx context.Context) error {
		found, err := ask(ctx, w.subject, schema)
		switch {
		case err == nil && found.ID <= 0: // outputs would name a schema that does not exist
			return noAnswer(what+strconv.Quote(w.subject)+": the answer has no id", classify.StageEncode, nil)
		case err != nil:
			answer.until = time.Now().Add(c.rules.Cache.Missing.Std())
			return refused(err, what+strconv.Quote(w.subject))
		}
		answer.number = found.ID
		return nil
	})
	if !answer.passes() {
		c.mu.Lock()
		c.written[w] = answer
		c.mu.Unlock()
	}
	return answer.number, answer.err
}
