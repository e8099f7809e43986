package consumer

import (
	"context"
	"fmt"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/control"
	"github.com/switchback-geo/switchback/internal/gates"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// read compares the coordinates of a feature with the precision floor (S0-9). A feature below it fails if the latest
// features are below it too. By default that pauses the pipeline, and the record stays where it is. A replayed dead
// letter is neither counted nor refused, because a person has looked at it. A retry is judged, and was counted before.
func (c *Consumer) read(r *retrytopics.Record, part int, source *transform.Feature) error {
	if r.Control.DeadLetterID != "" {
		return nil
	}
	batch := batchOf(r.Headers)
	if batch != "" {
		if reason, yes := c.orders.quarantined(batch); yes {
			return quarantinedError(batch, reason)
		}
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
	case c.gates.Suspended(now) && c.cfg.Pipeline.Tolerance.HoldsOn(classify.CodePrecisionDegraded):
		return nil // it would pause the pipeline; in the mode that makes dead letters, it goes on making them
	}
	return breach.Failure(source.IDString())
}
