package retrytopics_test

import (
	"context"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// S1-1: due times are made, and waited for, by the clock of the instance: one whose clock is an hour ahead puts a record off by
// an hour more, and takes what another one has put off by less at once.
func TestEngine_S1_1_dueTimesAreThoseOfTheInstancesClock(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	var failing retrytopics.Handler = func(context.Context, *retrytopics.Record) (retrytopics.Result, error) {
		return retrytopics.Result{}, unavailable
	}
	b.produce(stream(1, 1)...)
	cfg := b.config(failing)
	cfg.Timing.ClockSkew = func() time.Duration { return time.Hour }
	began := time.Now()
	b.interrupted(cfg, 0)
	waiting := b.read(cfg.Retries.Tiers[0].Topic)
	must.That(t, len(waiting) == 1, "%d records wait, want 1", len(waiting))
	due, err := time.Parse(time.RFC3339, headerOf(waiting[0], header.KeyDue))
	expect.That(t, err == nil && !due.Before(began.Add(time.Hour)), "due at %v (%v), want an hour after %v", due, err, began)
	next := b.config(copied)
	next.Timing.ClockSkew = func() time.Duration { return 2 * time.Hour }
	b.drain(b.engine(next))
	expect.Equal(t, len(b.read(output)), 1, "outputs")
}
