package app

import (
	"context"
	"fmt"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/control"
	"github.com/switchback-geo/switchback/internal/tolerance"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// batchHeader is the header by which a producer says that records belong together.
const batchHeader = "batch-id"

func newGates(cfg *config.Config) *tolerance.Gates {
	t := cfg.Pipeline.Tolerance
	return tolerance.New(tolerance.Limits{
		Fields: tolerance.FieldsOf(cfg.Transform), MaxNullRate: t.MaxNullRate, MaxTransientRate: t.MaxTransientRate,
		MaxDeadLetterRate: t.MaxDeadLetterRate, Window: t.Window.Std(), MinRecords: t.MinRecords,
		ApartBatches: t.OnBatch == config.OnBatchQuarantine,
	})
}

// mapped counts the missing values of a feature. A retry is not counted again.
func (c *Consumer) mapped(r *retrytopics.Record, f *transform.Feature) {
	if r.Attempt == 1 {
		c.broken(c.gates.Mapped(c.now(), header(r.Headers, batchHeader), f))
	}
}

// ended counts a committed attempt.
func (c *Consumer) ended(e *retrytopics.Event) {
	if outcome, counts := outcomeOf(e); counts {
		c.broken(c.gates.Ended(e.At, header(e.Record.Headers, batchHeader), outcome))
	}
}

// outcomeOf says what an event means for the gates, and whether an attempt was made at all.
func outcomeOf(e *retrytopics.Event) (o tolerance.Outcome, counts bool) {
	if e.Decision.Outcome == retrytopics.OutcomeParked {
		return o, false
	}
	return tolerance.Outcome{
		Transient: e.Failure != nil && e.Failure.Transient(),
		Finished:  e.Decision.Outcome.Finished(),
		Dead:      e.Decision.Outcome == retrytopics.OutcomeDeadLettered,
		Delivered: e.Decision.Outcome == retrytopics.OutcomeDelivered,
	}, true
}

// broken acts on broken tolerances: the first one is the reason, all the others follow from the same records.
func (c *Consumer) broken(breaches []tolerance.Breach) {
	for _, b := range breaches {
		c.orders.hold(context.Background(), c.now(), control.Code(b.Code), b.String())
		return
	}
}

// failed hears of every failed attempt before it counts. One that the pipeline does not put up with holds it, and the record
// stays where it is.
func (c *Consumer) failed(e *retrytopics.Event) {
	if !holdsAtOnce(c.cfg.Pipeline.Tolerance, *e.Failure) {
		return
	}
	reason := fmt.Sprintf("%s, feature %q: %v", e.Record.Source, e.Identity.FeatureID, e.Failure.Err)
	c.orders.hold(context.Background(), e.At, control.Code(e.Failure.Code), reason)
}

// holdsAtOnce says whether one failure is enough to hold the pipeline: its code is listed, or nothing can go on, such as
// when a disk is full (S4-1).
func holdsAtOnce(t config.Tolerance, f classify.Failure) bool {
	return t.HoldsOn(f.Code) || f.Level == classify.LevelPipeline
}
