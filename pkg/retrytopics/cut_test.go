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
	for left, runs := range map[int][]func(*retrytopics.Engine, context.Context) error{
		20: {(*retrytopics.Engine).Run, (*retrytopics.Engine).RunUntilEnd},
		0:  {(*retrytopics.Engine).RunUntilEnd}, // no record shows it: only the ends do
	} {
		b := newBroker(t)
		b.produce(events(left)...)
		cfg := b.config(copied)
		b.resets(cfg.Group, 1000)
		ctx, stop := context.WithTimeout(t.Context(), testrun.Patient(30*time.Second))
		defer stop()
		for _, run := range runs {
			err := run(b.engine(cfg), ctx)
			expect.That(t, errors.Is(err, retrytopics.ErrLogTruncated) && strings.Contains(err.Error(), "and 1000 is committed") && strings.Contains(err.Error(), source+" partition "),
				"%d records left: got %v", left, err)
		}
		expect.Equal(t, len(b.read(output)), 0, "records that took effect")
	}
}
