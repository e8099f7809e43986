package consumer

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/switchback-geo/switchback/internal/config"
)

// Limits are limits of a bounded run in addition to the pipeline file's (S4-12).
type Limits struct {
	// MaxDLQRate is the share of the run's records that may become dead letters. During the run it replaces
	// tolerance.max_dead_letter_rate. At the end it is compared with the whole run, even if that had few records. Nil
	// keeps the tolerance.
	MaxDLQRate *float64
	// SLA is how long the run may take. A longer run continues, logs a warning when the time has passed, and ends with a
	// LimitError. 0 is no limit.
	SLA time.Duration
	// AllowQuarantine allows quarantined batches. Without it, a run that leaves one ends with a LimitError: the
	// records of the batch are in the DLQ, and a scheduler must not treat that as success.
	AllowQuarantine bool
}

// apply returns the configuration of a run with these limits.
func (l Limits) apply(cfg *config.Config) *config.Config {
	if l.MaxDLQRate == nil {
		return cfg
	}
	own := *cfg
	own.Pipeline.Tolerance.MaxDeadLetterRate = *l.MaxDLQRate
	return &own
}

// LimitError means that a bounded run is done but exceeded its limits.
type LimitError struct{ Exceeded []string }

// Error lists the exceeded limits.
func (e *LimitError) Error() string {
	return "the run is complete but exceeds its limits: " + strings.Join(e.Exceeded, "; ")
}

// RunUntilEnd consumes everything that is in the source now or waits in the tiers, then returns. It returns a
// *PausedError if the pipeline is paused before that, because a scheduler should not wait for a person, and a
// *LimitError if everything is done but Options.Limits are exceeded.
func (c *Consumer) RunUntilEnd(ctx context.Context) error {
	c.lines = &runLog{log: c.log, every: linesEvery, began: time.Now(), tolerated: c.cfg.Pipeline.Tolerance.MaxDeadLetterRate}
	if sla := c.limits.SLA; sla > 0 {
		c.metrics.Deadline(c.now().Add(sla))
		late := time.AfterFunc(sla, func() {
			c.log.WarnContext(ctx, "deadline missed (--sla): the run is not complete; it continues", "sla_seconds", sla.Seconds())
		})
		defer late.Stop()
	}
	if err := c.run(ctx, c.engine.RunUntilEnd, true); err != nil || ctx.Err() != nil {
		return err
	}
	exceeded := c.limits.exceeded(c.Summary(), c.cfg.Pipeline.Tolerance.MaxDeadLetterRate)
	if len(exceeded) == 0 {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.summary.LimitsExceeded = exceeded
	return &LimitError{exceeded}
}

// exceeded returns the limits that a finished run has exceeded. Without a rate of its own, the run is compared with the
// pipeline file's tolerance: the gate judges only from tolerance.min_records on, and a run may have fewer.
func (l Limits) exceeded(s Summary, tolerated float64) (exceeded []string) {
	limit, from := tolerated, "pipeline.tolerance.max_dead_letter_rate; --max-dlq-rate sets another one for a run"
	if l.MaxDLQRate != nil {
		limit, from = *l.MaxDLQRate, "--max-dlq-rate"
	}
	if s.DLQRate > limit {
		exceeded = append(exceeded, fmt.Sprintf("%d of %d records are dead letters, that is a rate of %.4g; the limit is %.4g (%s)",
			s.DeadLettered, s.records(), s.DLQRate, limit, from))
	}
	if s.SLAMissed {
		exceeded = append(exceeded, fmt.Sprintf("it took %.1f s; the deadline (--sla) is %.4g s", s.DurationSeconds, s.SLASeconds))
	}
	if n := len(s.QuarantinedBatches); n > 0 && !l.AllowQuarantine {
		exceeded = append(exceeded, fmt.Sprintf("quarantined: %s; %d of %d records are dead letters. See consumer status and replayer groups; --allow-quarantine ends such a run with exit code 0",
			batches(s.QuarantinedBatches), s.DeadLettered, s.records()))
	}
	return exceeded
}

// batches names some of the producer's batches.
func batches(ids []string) string {
	const maxShown = 5
	switch n := len(ids); {
	case n == 1:
		return "batch " + ids[0]
	case n <= maxShown:
		return fmt.Sprintf("%d batches (%s)", n, strings.Join(ids, ", "))
	default:
		return fmt.Sprintf("%d batches (%s, …)", n, strings.Join(ids[:maxShown], ", "))
	}
}

// linesEvery is the number of records between two log lines of a bounded run.
const linesEvery = 5000

// runLog logs a bounded run, one line per linesEvery records (S4-13). It is used by one goroutine.
type runLog struct {
	log       *slog.Logger
	every     int64
	began     time.Time
	tolerated float64
	batch     int
	reported  Summary
}

// write writes a line if enough was consumed since the last one, or if rest is set.
func (l *runLog) write(now Summary, rest bool) {
	n := now.Consumed - l.reported.Consumed
	if n < l.every && !rest || n == 0 && now.finished() == l.reported.finished() && now.Retried == l.reported.Retried {
		return
	}
	l.batch++
	l.log.Info("batch complete", "batch", l.batch, "consumed", n, "delivered", now.Delivered-l.reported.Delivered,
		"retried", now.Retried-l.reported.Retried, "dead_lettered", now.DeadLettered-l.reported.DeadLettered,
		"consumed_total", now.Consumed, "dead_lettered_total", now.DeadLettered,
		"dlq_rate", now.dlqRate(), "dlq_rate_tolerated", l.tolerated,
		"duration_seconds", time.Since(l.began).Seconds())
	l.reported = now
}
