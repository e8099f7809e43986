package consumer

import (
	"context"
	"errors"
	"fmt"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/control"
	"github.com/switchback-geo/switchback/internal/gates"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// batchHeader is the header with which a producer groups records into a batch.
const batchHeader = "batch-id"

func newGates(cfg *config.Config) *gates.Gates {
	t := cfg.Pipeline.Tolerance
	return gates.New(gates.Limits{
		Fields: gates.FieldsOf(cfg.Transform), MaxNullRate: t.MaxNullRate, MaxTransientRate: t.MaxTransientRate,
		MaxDeadLetterRate: t.MaxDeadLetterRate, Window: t.Window.Std(), MinRecords: t.MinRecords, Floor: t.PrecisionDecimalThreshold,
		SeparateBatches: t.OnBatch == config.OnBatchQuarantine,
		Attempt:         2*cfg.Engine.HandlerTimeout.Std() + cfg.Engine.TransactionTimeout.Std(),
	})
}

// observed reports to the gates the start of each attempt, and an attempt that does not count because something is
// unavailable. The gates learn of its end from the commit.
func (c *Consumer) observed(handle retrytopics.Handler) retrytopics.Handler {
	return func(ctx context.Context, r *retrytopics.Record) (retrytopics.Result, error) {
		batch := judgedBatch(r)
		if _, quarantined := c.orders.quarantined(batch); !quarantined {
			c.gates.Begun(c.now(), r.Position, batch, r.Attempt == 1)
		}
		result, err := handle(ctx, r)
		if _, none := errors.AsType[*retrytopics.UnavailableError](err); none {
			c.gates.Over(r.Position)
		}
		return result, err
	}
}

// judgedBatch returns the batch to whose rates a record counts. A replayed dead letter has none, because an operator
// has decided about it.
func judgedBatch(r *retrytopics.Record) string {
	if r.Control.DeadLetterID != "" {
		return ""
	}
	return batchOf(r.Headers)
}

// mapped counts the missing values of a feature, and refuses a feature of a quarantined batch. A retry, or a record that
// waited for a service, is not counted again. A replayed dead letter is neither counted nor refused, because an operator
// has decided about it.
func (c *Consumer) mapped(r *retrytopics.Record, f *transform.Feature, again bool) error {
	if r.Control.DeadLetterID != "" {
		return nil
	}
	batch := batchOf(r.Headers)
	if reason, yes := c.orders.quarantined(batch); yes {
		return quarantinedError(batch, reason)
	}
	if r.Attempt == 1 && !again && f != nil {
		c.broken(c.gates.Mapped(c.now(), batch, f))
	}
	return nil
}

func quarantinedError(batch, reason string) error {
	return &transform.Error{
		Code: classify.CodeBatchQuarantined, Stage: classify.StageGate, Rule: "pipeline.tolerance.on_batch",
		Message: fmt.Sprintf("batch %s is quarantined: %s", batch, reason),
		Fix:     "replay its dead letters once the batch is fixed or accepted; `consumer resume --batch` lets further records of it through",
	}
}

// ended counts a committed attempt; if features of a collection end separately, it counts the features. Outcomes of a
// quarantined batch do not count for the other records' rates.
func (c *Consumer) ended(e *retrytopics.Event) {
	stale := c.gates.Over(e.Record.Position)
	if e.Parts.Ended()+e.Parts.Waiting == 0 {
		if outcome, counts := outcomeOf(e); counts {
			c.endedAs(e, outcome, stale)
		}
		return
	}
	for part, n := range e.Parts.Each() {
		for range n {
			c.endedAs(e, gates.Outcome{
				Retry: e.Record.Attempt > 1, Transient: part == policy.OutcomeRetried, Finished: part.Finished(),
				Dead: part == policy.OutcomeDeadLettered, Delivered: part == policy.OutcomeDelivered,
			}, stale)
		}
	}
}

// endedAs counts one outcome of a committed attempt. A stale one began before a person resumed the pipeline or its
// batch, and counts for no rate.
func (c *Consumer) endedAs(e *retrytopics.Event, outcome gates.Outcome, stale bool) {
	if e.Failure != nil && e.Failure.Code == classify.CodeBatchQuarantined {
		return
	}
	batch := judgedBatch(e.Record)
	if _, quarantined := c.orders.quarantined(batch); quarantined || stale {
		c.gates.EndedWithoutRate(batch, outcome)
	} else {
		c.broken(c.gates.Ended(e.At, batch, outcome))
	}
	if outcome.Delivered && batch != "" {
		c.orders.deliveredOf(batch)
	}
}

// outcomeOf returns the meaning of an event for the gates, and whether an attempt was made at all.
func outcomeOf(e *retrytopics.Event) (o gates.Outcome, counts bool) {
	if e.Decision.Outcome == policy.OutcomeParked {
		return o, false
	}
	return gates.Outcome{
		Retry:     e.Record.Attempt > 1,
		Transient: e.Failure != nil && e.Failure.Transient(),
		Finished:  e.Decision.Outcome.Finished(),
		Dead:      e.Decision.Outcome == policy.OutcomeDeadLettered,
		Delivered: e.Decision.Outcome == policy.OutcomeDelivered,
	}, true
}

// broken acts on exceeded tolerances. If several pause the pipeline, the first is the reason; the others follow from the
// same records.
func (c *Consumer) broken(breaches []gates.Breach) {
	quarantines := c.cfg.Pipeline.Tolerance.OnBatch == config.OnBatchQuarantine
	for _, b := range breaches {
		if b.Batch != "" && quarantines {
			c.orders.quarantine(context.Background(), c.now(), b.Batch, control.Code(b.Code), b.String())
			continue
		}
		c.orders.pauseByRate(context.Background(), c.now(), control.Code(b.Code), b.String())
		return
	}
}

// failed is called for every failed attempt before it counts. A failure that the pipeline does not tolerate pauses it,
// at once or after its retries, and the record stays where it is.
func (c *Consumer) failed(e *retrytopics.Event) {
	if !c.cfg.Pipeline.Tolerance.Pauses(*e.Failure, e.Decision.Reason) {
		return
	}
	reason := fmt.Sprintf("%s, feature %q, attempt %d: %v", e.Record.Source, e.Identity.FeatureID, e.Record.Attempt, e.Failure.Err)
	c.orders.pause(context.Background(), e.At, control.Code(e.Failure.Code), reason)
}

// read compares the coordinates of a feature with the precision floor (S0-9). A feature below the floor fails if the
// latest features are below it too. By default this pauses the pipeline, and the record stays in its topic. A replayed
// dead letter is neither counted nor refused, because an operator has decided about it. A retry is judged, but not
// counted again.
func (c *Consumer) read(r *retrytopics.Record, part int, source *transform.Feature) error {
	if r.Control.DeadLetterID != "" {
		return nil
	}
	batch := batchOf(r.Headers)
	if reason, yes := c.orders.quarantined(batch); yes {
		return quarantinedError(batch, reason)
	}
	feature := source.IDString()
	if feature == "" {
		feature = fmt.Sprintf("%s#%d", r.Source, part)
	}
	now := c.now()
	breach, yes := c.gates.Precision(now, batch, gates.SampleOf(feature, source.Geometry.Shape), r.Attempt == 1)
	switch {
	case !yes:
		return nil
	case breach.Batch != "" && c.cfg.Pipeline.Tolerance.OnBatch == config.OnBatchQuarantine:
		c.orders.quarantine(context.Background(), now, batch, control.Code(classify.CodePrecisionDegraded), breach.String())
		return quarantinedError(batch, breach.String())
	case c.gates.Suspended(now) && c.cfg.Pipeline.Tolerance.PausesOn(classify.CodePrecisionDegraded):
		return nil // it would pause the pipeline; in the mode that writes dead letters, it continues to write them
	}
	return breach.Failure(source.IDString())
}
