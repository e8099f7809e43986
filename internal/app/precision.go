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

// read holds the coordinates of a feature against the floor of their precision (S0-9). A feature below it fails while the last
// ones are below it too: by default that holds the pipeline, and the record stays where it is. A replayed dead letter is
// neither counted nor refused: a person has looked at it. A retry is judged, and was counted before.
func (c *Consumer) read(r *retrytopics.Record, part int, source *transform.Feature) error {
	if r.Control.DeadLetterID != "" {
		return nil
	}
	batch := batchOf(r.Headers)
	if reason, yes := c.orders.quarantined(batch); yes && batch != "" {
		return quarantinedError(batch, reason)
	}
	feature := source.IDString()
	if feature == "" {
		feature = fmt.Sprintf("%s#%d", r.Source, part)
	}
	breach, yes := c.gates.Precision(batch, tolerance.SampleOf(feature, source.Geometry.Shape), r.Attempt == 1)
	switch {
	case !yes:
		return nil
	case breach.Batch != "" && c.cfg.Pipeline.Tolerance.OnBatch == config.OnBatchQuarantine:
		c.orders.quarantine(context.Background(), c.now(), batch, control.Code(classify.CodePrecisionDegraded), breach.String())
		return quarantinedError(batch, breach.String())
	}
	return &transform.Error{
		Code: classify.CodePrecisionDegraded, Stage: classify.StageGate, Rule: "pipeline.tolerance.precision_decimal_threshold",
		Path: "/geometry", Feature: source.IDString(), Message: breach.String(),
		Fix: "have the producer send its coordinates unrounded and resume; or, where they are right as they are, lower the floor (only rounding of the output was meant: " +
			"write transform.geometry.round_decimals and remove the floor), restart and resume; " +
			"without precision_degraded in hold_on, records below the floor become dead letters",
	}
}
