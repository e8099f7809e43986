package retrytopics_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// A partition that ends before what is committed of it was cut, or its topic made anew. The engine says so and ends, for good:
// new records have the offsets of old ones, and would be skipped or taken for older ones.
func TestEngine_S0_4_aPartitionThatWasCutEndsTheEngine(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	b.produce(events(20)...)
	cfg := b.config(copied)
	b.resets(cfg.Group, 1000)
	ctx, stop := context.WithTimeout(t.Context(), testrun.Patient(30*time.Second))
	defer stop()
	for name, run := range map[string]func(context.Context) error{"run": b.engine(cfg).Run, "until_end": b.engine(cfg).RunUntilEnd} {
		err := run(ctx)
		expect.That(t, errors.Is(err, retrytopics.ErrLogTruncated) && strings.Contains(err.Error(), "and 1000 is committed") && strings.Contains(err.Error(), source+" partition "),
			"%s: got %v", name, err)
	}
	if out := b.read(output); len(out) != 0 {
		t.Errorf("%d records took effect", len(out))
	}
}
