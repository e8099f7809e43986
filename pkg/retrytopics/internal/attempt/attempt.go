package attempt

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"runtime/debug"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/keyorder"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/fit"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/memory"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/schedule"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// Worker makes one attempt after another. It allocates small objects that many attempts need in slabs.
type Worker struct {
	*Shared

	counts func(*schedule.Task, schedule.Outage) bool // reports whether a failure counts although a dependency is down
	Caller Caller
	slab   header.Buffer
}

// NewWorker returns a worker. counts reports whether a failure counts as an attempt although a dependency is down.
func (a *Shared) NewWorker(counts func(*schedule.Task, schedule.Outage) bool) *Worker {
	common := callerConfig{Limit: a.cfg.Timing.Handler, Classify: a.cfg.Retries.Classify, Logger: a.cfg.Logger}
	return &Worker{Shared: a, counts: counts, Caller: Caller{callerConfig: common}}
}

// Attempt runs the handler once, and stores the outcome in t.Done. It returns an UnavailableError if a dependency was
// down and no attempt was made, and undone=true if the result must be discarded.
func (w *Worker) Attempt(ctx context.Context, t *Task) (deferred *retrytopics.UnavailableError, undone bool) {
	event := &t.Event
	started := w.Now()
	w.Caller.Begin(&t.Record.Source)
	defer w.Caller.End()
	if event.Record != nil {
		t.Done = Done{} // of an attempt that did not count
	}
	t.Down, t.ResultBytes = nil, 0
	if t.Keyed && (w.cfg.Dedupe.On() || w.cfg.Ordering.RemembersVersions()) {
		t.Change.Hash = idempotency.HashKey(t.Raw.Key)
	}
	event.Record, event.Identity, event.At = &t.Record, identityOf(t.Record.Control), started
	before := w.past(t, started)
	turn := w.turn(t, before.Order)
	number(&t.Record, turn.number)
	if turn.waits {
		event.Decision, before.Order = turn.decision, turn.order
	} else {
		if deferred := w.handled(ctx, t, turn.refused, &before); deferred != nil {
			return deferred, false
		}
		if w.undone(ctx, event) {
			return nil, true
		}
	}
	w.end(ctx, t, &before)
	return nil, false
}

// handled calls the handler and decides by its answer. refused is the reason why the record cannot be attempted, if
// there is one.
func (w *Worker) handled(ctx context.Context, t *Task, refused error, before *memory.Past) *retrytopics.UnavailableError {
	event, result := &t.Event, &t.Result
	started := event.At
	if t.fromTier() && refused == nil {
		event.Lateness = started.Sub(t.Record.Control.Due)
	}
	var err error
	*result, err = w.answer(ctx, t, refused)
	if deferred, ok := errors.AsType[*retrytopics.UnavailableError](err); ok {
		met := OutageOf(deferred)
		if deferred.Err == nil || !w.counts(&t.Task, met) {
			return deferred
		}
		t.Down, err = &met, deferred.Err
	}
	event.At = w.Now()
	event.Took = event.At.Sub(started)
	if t.Weight > largeValue {
		result.Identity = copied(&result.Identity)
	}
	event.Identity = merged(&result.Identity, &event.Identity)
	whole := err == nil && len(result.Failed) == 0
	t.Handled = refused == nil && (whole || ctx.Err() == nil) // revoking a partition cancels its running attempts
	w.decide(t, event, before, result, err)
	return nil
}

// end builds the records of an attempt that counts, and applies the attempt's effect on its key to the memory.
func (w *Worker) end(ctx context.Context, t *Task, before *memory.Past) {
	event := &t.Event
	event.DeadLetterID = deadLetterOf(event)
	if t.Keyed {
		effect, sequence := w.effect(t, before)
		number(&t.Record, sequence)
		t.State.Memory.Apply(&t.Change, t.Raw.Key, before, effect)
	}
	t.Outputs, event.Destination = w.records(t, event, &t.Result, &w.slab)
	more, err := w.journal(event)
	if err != nil {
		w.cfg.Logger.ErrorContext(ctx, "journal failed; the event is not recorded", "source", t.Record.Source.String(), "error", err)
	}
	t.Outputs = append(t.Outputs, more...)
	for _, out := range t.Outputs {
		t.ResultBytes += len(out.Value)
	}
}

// turn is the decision whether a task may run now.
type turn struct {
	waits    bool
	decision policy.Decision // where a record that waits does so
	order    keyorder.State  // of its key meanwhile
	number   int64           // of the record among those of its key that wait
	refused  error           // why a record that may run cannot be attempted
}

// turn decides whether a task may run now. order is the state of its key.
func (a *Shared) turn(t *Task, order keyorder.State) turn {
	runs := turn{number: t.Record.Control.Sequence, refused: t.Refused}
	if d, due := a.surface(t); !due {
		return turn{waits: true, decision: d, order: order, number: runs.number}
	}
	if !t.Keyed || a.cfg.Ordering.Mode == retrytopics.OrderNone || t.unreadable() {
		return runs
	}
	next, d, number, run := rulesOf(&a.cfg.Ordering).Admit(order, t.ordered(), a.cfg.Retries.Tiers, t.Event.At)
	runs.number = number
	if run {
		return runs
	}
	if topic := a.cfg.Retries.Tiers[d.Tier].Topic; !a.holds(topic, t) {
		runs.refused = cmp.Or(t.Refused, fit.NoTier(topic))
		return runs
	}
	return turn{waits: true, decision: d, order: next, number: number}
}

// unreadable reports whether the control headers are invalid, so that the record's due time and sequence are unknown.
func (t *Task) unreadable() bool {
	_, malformed := errors.AsType[*header.Error](t.Refused)
	return malformed
}

// ordered returns the properties of the task's record that decide the order of its key.
func (t *Task) ordered() keyorder.Record {
	r := keyorder.Record{FromTier: t.fromTier(), Number: t.Record.Control.Sequence, DeadLetterID: t.deadLetterID(), Part: t.Record.Control.Part}
	if t.Record.Control.Remaining != nil || len(t.Event.Dead) > 0 {
		r.OwnDeadLetter = wholeDeadLetterID(&t.Record)
	}
	return r
}

func (a *Shared) surface(t *Task) (policy.Decision, bool) {
	if !t.fromTier() || t.unreadable() {
		return policy.Decision{}, true
	}
	return policy.Surface(a.cfg.Retries.Tiers, t.Record.Control.Due, t.Event.At)
}

// answer returns the handler's answer, which an earlier session may have received already.
func (w *Worker) answer(ctx context.Context, t *Task, refused error) (retrytopics.Result, error) {
	if refused != nil {
		return retrytopics.Result{}, refused
	}
	if m := t.Answer; m != nil {
		t.Answer = nil
		return m.result, m.Err
	}
	var result retrytopics.Result
	err := w.Caller.Call(ctx, t.Event.At.Add(-w.skew()), func(ctx context.Context) (err error) {
		result = retrytopics.Result{} // a call that panics has no answer, and must not reuse the previous one
		result, err = w.call(ctx, t)
		return err
	})
	return result, err
}

// call runs the handler once, and checks its answer.
func (a *Shared) call(ctx context.Context, t *Task) (result retrytopics.Result, err error) {
	result, err = a.cfg.Handler(ctx, &t.Record)
	if err == nil {
		err = retrytopics.Reject(check(&result))
	}
	if err == nil && result.Close == "" {
		err = t.Fits(result.Outputs...)
		t.Dated = slices.ContainsFunc(result.Outputs, func(out *kgo.Record) bool { return !out.Timestamp.IsZero() })
	}
	return result, err
}

// decide turns the handler's answer into a decision. An event that must no longer take effect is closed, whatever the
// handler returned.
func (a *Shared) decide(t *Task, event *retrytopics.Event, before *memory.Past, result *retrytopics.Result, err error) {
	closed := policy.Outcome("")
	result.Delete = result.Delete || t.Raw.Value == nil
	switch {
	case err == nil && result.Close == "":
		closed = a.judge(t, before, event.Identity.ContentHash, result.Version, result.Delete)
	case err != nil && a.cfg.Retries.Classify(err).Transient() && a.superseded(t, before, result.Version, result.Delete):
		closed = policy.OutcomeSuperseded // but never duplicate: the handler's own storage outside Kafka may lack it
	}
	switch {
	case closed != "":
		*result = retrytopics.Result{Identity: result.Identity, Close: closed, Version: result.Version, Delete: result.Delete}
		event.Decision = policy.Decision{Outcome: closed, Reason: policy.ReasonOvertaken}
		event.Parts.Overtaken = event.Record.Control.Remaining.Parts()
	case err == nil && len(result.Failed) > 0:
		a.decideParts(t, event, result)
	case err == nil:
		event.Decision = policy.Decision{Outcome: cmp.Or(result.Close, policy.OutcomeDelivered), Reason: policy.ReasonHandled}
		if result.Close == "" && a.overwrites(t, before, result) {
			event.Decision.Reason = policy.ReasonForced
		}
		event.Note = result.Note
		endParts(event, result)
	default:
		failure := a.cfg.Retries.Classify(err)
		event.Failure = &failure
		event.Decision = a.orDeadLetter(t, policy.Decide(a.cfg.Retries.Policies(), a.cfg.Retries.Tiers, tried(event.Record), failure, event.At, rand.Float64))
	}
}

// tried returns the record's history for the policy. The wait before this attempt comes from its headers: from the last
// failure to the due time. If the record waited for its predecessor, the due time is the predecessor's. Only
// decorrelated jitter uses the wait, and it bounds it.
func tried(r *retrytopics.Record) policy.Tried {
	t := policy.Tried{Attempts: r.Attempt}
	if c := r.Control; !c.FailedAt.IsZero() && c.Due.After(c.FailedAt) {
		t.LastDelay = c.Due.Sub(c.FailedAt)
	}
	return t
}

// journal returns the journal's records for an event.
func (a *Shared) journal(event *retrytopics.Event) (records []*kgo.Record, err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &classify.PanicError{Value: value, Stack: debug.Stack()}
		}
	}()
	records, err = a.cfg.Journal.Event(event)
	for _, r := range records {
		if r.Topic == "" {
			return nil, errors.New("a journal record has no topic")
		}
	}
	return records, err
}

// undone reports a failed attempt to the hooks, and returns whether it must be put back because the engine was paused
// before or during the report. Revoking a partition cancels its running attempts; those are not reported.
func (a *Shared) undone(ctx context.Context, event *retrytopics.Event) bool {
	if event.Failure == nil && len(event.Dead) == 0 || ctx.Err() != nil {
		return false
	}
	paused := a.PausedFor() != ""
	for _, dead := range event.Dead {
		a.cfg.Hooks.OnFailure(dead)
	}
	if event.Failure != nil {
		a.cfg.Hooks.OnFailure(event)
	}
	return paused || a.PausedFor() != ""
}
