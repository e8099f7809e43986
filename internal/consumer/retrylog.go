package consumer

import (
	"log/slog"
	"time"

	"github.com/switchback-geo/switchback/internal/governance"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// retryAttrs returns the log attributes of a retry (S3-7) as one group: for an attempt that will be repeated, and for a
// repeated one. A first attempt that is final is no retry.
func retryAttrs(e *retrytopics.Event, rules governance.Status, used energy) []slog.Attr {
	again := e.Decision.Outcome == policy.OutcomeRetried
	if !again && e.Record.Attempt < 2 || e.Decision.Outcome == policy.OutcomeParked {
		return nil
	}
	// A success logs what failed before it.
	stage, class, delay := e.Record.Control.ErrorStage, e.Record.Control.ErrorClass, waited(e.Record.Control)
	if f := e.Failure; f != nil {
		stage, class = string(f.Stage), string(f.Class)
	}
	if again {
		delay = e.Decision.Due.Sub(e.At)
	}
	fields := []any{
		slog.String("stage", stage), slog.Int("attempt", e.Record.Attempt), slog.Int64("delay_ms", delay.Milliseconds()),
		slog.String("error_class", class), slog.Bool("success", e.Failure == nil), slog.String("governance_status", string(rules)),
	}
	if used.measured {
		fields = append(fields, slog.Float64("energy_wh", used.wattHours), slog.Float64("co2_g", used.grams))
	}
	return []slog.Attr{slog.Group("retry", fields...)}
}

// waited returns how long the record had to wait before this attempt.
func waited(c *header.Control) time.Duration {
	if c.FailedAt.IsZero() || !c.Due.After(c.FailedAt) {
		return 0
	}
	return c.Due.Sub(c.FailedAt)
}
