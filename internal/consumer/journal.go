package consumer

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/governance"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// journal creates the records that are committed together with a decision: its audit event, and the final state of a
// replayed dead letter.
type journal struct {
	cfg   *config.Config
	runID string
}

func (j *journal) records(e *retrytopics.Event) ([]*kgo.Record, error) {
	records, err := j.parts(e)
	if err != nil {
		return nil, err
	}
	if j.cfg.Audit == config.AuditAll || !firstDelivery(e) {
		r, err := j.event(e, audit.Decision(e.Decision.Outcome)).Record(j.cfg.Topics.Audit, e.Record.Position.Partition)
		if err != nil {
			return nil, fmt.Errorf("audit event: %w", err)
		}
		records = append(records, r)
	}
	state, changes, err := j.deadLetterState(e)
	if err != nil || !changes {
		return records, err
	}
	r, err := j.changed(e, state).Record(j.cfg.Topics.Audit, e.Record.Position.Partition)
	if err != nil {
		return nil, fmt.Errorf("audit event: %w", err)
	}
	return append(records, state.Record(j.cfg.Topics.DLQStatus, e.Record.Position.Partition), r), nil
}

// parts returns the records about the parts of a record that are separate dead letters.
func (j *journal) parts(e *retrytopics.Event) (records []*kgo.Record, err error) {
	for _, dead := range e.Dead {
		events := []audit.Event{j.event(dead, audit.DeadLettered)}
		if denied(dead) {
			state, err := j.denial(dead)
			if err != nil {
				return nil, err
			}
			records = append(records, state.Record(j.cfg.Topics.DLQStatus, e.Record.Position.Partition))
			events = append(events, j.changed(dead, state))
		}
		for _, event := range events {
			r, err := event.Record(j.cfg.Topics.Audit, e.Record.Position.Partition)
			if err != nil {
				return nil, fmt.Errorf("audit event of part %s: %w", dead.Part, err)
			}
			records = append(records, r)
		}
	}
	return records, nil
}

// changed returns the audit event of a dead letter's new state.
func (j *journal) changed(e *retrytopics.Event, state deadletters.State) audit.Event {
	a := j.event(e, audit.StateChanged)
	a.Reason, a.Destination = string(state.Status), j.cfg.Topics.DLQStatus
	return a
}

// denial returns the state of a new dead letter that a governance rule forbids.
func (j *journal) denial(e *retrytopics.Event) (deadletters.State, error) {
	prev := deadletters.State{
		ID: e.DeadLetterID, Source: e.Record.Source, KeyHash: idempotency.HashKey(e.Record.Key), ContentHash: e.Identity.ContentHash,
	}
	return deadletters.Next(prev, deadletters.Change{
		To: deadletters.Escalated, Reason: string(e.Failure.Code) + ": " + e.Failure.Err.Error(), By: "consumer " + j.cfg.Engine.Instance, At: e.At,
	})
}

// loss returns the audit event of a gap.
func (j *journal) loss(l retrytopics.Loss) ([]*kgo.Record, error) {
	last := l.To - 1
	r, err := audit.Event{
		Time: time.Now(), Pipeline: j.cfg.Pipeline.ID, RunID: j.runID, Decision: audit.Lost, Reason: "deleted_before_consumed",
		Source: header.Position{Topic: l.Topic, Partition: l.Partition, Offset: l.From}.String(), LastOffset: &last,
		Message: fmt.Sprintf("%s partition %d: offsets %d to %d were deleted before they were consumed, at most %d records", l.Topic, l.Partition, l.From, last, l.Records),
	}.Record(j.cfg.Topics.Audit, l.Partition)
	if err != nil {
		return nil, fmt.Errorf("audit event: %w", err)
	}
	return []*kgo.Record{r}, nil
}

// deadLetterState returns the new state of the event's dead letter, if it has one. A finished replay closes it; one that a
// governance rule forbids is escalated at once.
func (j *journal) deadLetterState(e *retrytopics.Event) (state deadletters.State, changes bool, err error) {
	change := deadletters.Change{To: closing(e.Decision.Outcome), Reason: reason(e), By: "consumer " + j.cfg.Engine.Instance, At: e.At}
	if limit := j.cfg.DeadLetters.MaxReplays; change.To == deadletters.Pending && e.Record.Control.ReplayCount >= limit {
		change.To = deadletters.Escalated
	}
	denied := denied(e)
	if denied {
		change.To, change.Reason = deadletters.Escalated, string(e.Failure.Code)+": "+e.Failure.Err.Error()
	}
	switch {
	case deadletters.IsReplay(*e.Record.Control) && e.Decision.Outcome.Finished():
		state, err = deadletters.Closing(e.Record.Key, *e.Record.Control, change)
	case denied:
		state, err = j.denial(e)
	default:
		return deadletters.State{}, false, nil
	}
	if err != nil {
		return deadletters.State{}, false, fmt.Errorf("state of dead letter %s: %w", e.DeadLetterID, err)
	}
	return state, true, nil
}

// denied reports whether a governance rule made the record a dead letter.
func denied(e *retrytopics.Event) bool {
	return e.Decision.Outcome == policy.OutcomeDeadLettered && e.Failure != nil && e.Failure.Code == classify.CodeGovernanceDenied
}

// firstDelivery reports whether the record was delivered at the first attempt.
func firstDelivery(e *retrytopics.Event) bool {
	return e.Decision.Outcome == policy.OutcomeDelivered && e.Record.Attempt == 1 && e.DeadLetterID == "" && len(e.Dead) == 0
}

// closing returns the status of a dead letter after a finished replay.
func closing(o policy.Outcome) deadletters.Status {
	switch o {
	case policy.OutcomeDelivered:
		return deadletters.Reprocessed
	case policy.OutcomeDuplicate:
		return deadletters.Duplicate
	case policy.OutcomeSuperseded:
		return deadletters.Superseded
	case policy.OutcomeFiltered, policy.OutcomeSkipped:
		return deadletters.Discarded
	case policy.OutcomeDeadLettered, policy.OutcomeRetried, policy.OutcomeParked:
		return deadletters.Pending
	}
	return deadletters.Pending
}

func reason(e *retrytopics.Event) string {
	if e.Failure != nil {
		return "failed again: " + string(e.Failure.Code)
	}
	if e.Note != "" {
		return e.Note
	}
	return string(e.Decision.Outcome)
}

func (j *journal) event(e *retrytopics.Event, d audit.Decision) audit.Event {
	a := audit.Event{
		Time: e.At, Pipeline: j.cfg.Pipeline.ID, RunID: j.runID, Source: e.Record.Source.String(), Key: e.Record.Key,
		FeatureID: e.Identity.FeatureID, ContentHash: e.Identity.ContentHash, Decision: d, Reason: string(e.Decision.Reason),
		Attempt: e.Record.Attempt, Due: e.Decision.Due, Destination: e.Destination, Message: e.Note, Part: cmp.Or(e.Part, e.Record.Part()).String(), DeadLetter: e.DeadLetterID,
	}
	if f := e.Failure; f != nil {
		a.Code, a.Class, a.Stage, a.Message = string(f.Code), string(f.Class), string(f.Stage), f.Err.Error()
	}
	return a
}

// logDecision logs a decision (S0-7, S1-7). A delivery at the first attempt is logged at debug level only, because it
// would hide the other decisions at usual rates.
func logDecision(ctx context.Context, log *slog.Logger, e *retrytopics.Event, more ...slog.Attr) {
	level := slog.LevelInfo
	switch {
	case firstDelivery(e):
		level = slog.LevelDebug
	case e.Decision.Outcome == policy.OutcomeDeadLettered:
		level = slog.LevelWarn
	}
	if !log.Enabled(ctx, level) {
		return
	}
	attrs := []slog.Attr{
		slog.String("source", e.Record.Source.String()), slog.String("feature_id", e.Identity.FeatureID),
		slog.String("decision", string(e.Decision.Outcome)), slog.String("reason", string(e.Decision.Reason)),
		slog.Int("attempt", e.Record.Attempt), slog.String("destination", e.Destination),
	}
	if !e.Part.Whole() {
		attrs = append(attrs, slog.String("part", e.Part.String()))
	}
	if batch := batchOf(e.Record.Headers); batch != "" {
		attrs = append(attrs, slog.String("batch_id", batch))
	}
	if f := e.Failure; f != nil {
		attrs = append(attrs, slog.String("code", string(f.Code)), slog.String("class", string(f.Class)),
			slog.String("stage", string(f.Stage)), slog.String("error", f.Err.Error()))
	}
	if !e.Decision.Due.IsZero() {
		attrs = append(attrs, slog.Time("due", e.Decision.Due), slog.Int64("delay_ms", e.Decision.Due.Sub(e.At).Milliseconds()))
	}
	if e.DeadLetterID != "" {
		attrs = append(attrs, slog.String("dead_letter_id", e.DeadLetterID))
	}
	log.LogAttrs(ctx, level, "decision", append(attrs, more...)...)
}

// batchOf returns the producer's name of a record's batch, or "".
func batchOf(headers []kgo.RecordHeader) string {
	for _, h := range headers {
		if h.Key == batchHeader {
			return string(h.Value)
		}
	}
	return ""
}

// retryAttrs returns the log attributes of a retry (S3-7) as one group: for an attempt that will be repeated, and for
// a repeated one. A first attempt that is final is not a retry.
func retryAttrs(e *retrytopics.Event, rules governance.Status, used energy) []slog.Attr {
	again := e.Decision.Outcome == policy.OutcomeRetried
	if !again && e.Record.Attempt < 2 || e.Decision.Outcome == policy.OutcomeParked {
		return nil
	}
	// A success logs the failure before it.
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
