package retrytopics

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/keyorder"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/attempt"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/fit"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/memory"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/schedule"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// worker makes one attempt after another. It allocates small objects that many attempts need in slabs.
type worker struct {
	e      *Engine
	sched  *schedule.Scheduler
	caller attempt.Caller
	slab   header.Buffer
}

func (e *Engine) newWorker(sched *schedule.Scheduler) *worker {
	common := attempt.Config{Limit: e.cfg.Timing.Handler, Classify: e.cfg.Retries.Classify, Logger: e.cfg.Logger}
	return &worker{e: e, sched: sched, caller: attempt.Caller{Config: common}}
}

// attempt runs the handler once and stores the records to produce in t. It returns an UnavailableError if a dependency
// was down and no attempt was made, and undone=true if the result must be discarded.
func (w *worker) attempt(ctx context.Context, t *task) (held *UnavailableError, undone bool) {
	e, r, event := w.e, &t.record, &t.event
	started := e.now()
	w.caller.Begin(&r.Source)
	defer w.caller.End()
	if t.Keyed && (e.cfg.Dedupe.on() || e.cfg.versions()) {
		t.change.Hash = idempotency.HashKey(t.raw.Key)
	}
	if event.Record != nil {
		*event, t.result, t.handled = Event{}, Result{}, false // of an attempt that did not count
	}
	event.Record, event.Identity, event.At = r, identityOf(r.Control), started
	t.Down, t.ResultBytes = nil, 0
	before := e.past(t, started)
	result := &t.result
	if d, run := e.startOrWait(t, &before.Order); !run {
		event.Decision = d
	} else {
		if t.from.tier != sourceTier && t.refused == nil {
			event.Lateness = started.Sub(r.Control.Due)
		}
		var err error
		*result, err = w.handle(ctx, t)
		if held, ok := errors.AsType[*UnavailableError](err); ok {
			met := held.outage()
			if held.Err == nil || !w.sched.Counts(&t.Task, met) {
				return held, false
			}
			t.Down, err = &met, held.Err
		}
		event.At = e.now()
		event.Took = event.At.Sub(started)
		if t.Weight > largeValue {
			result.Identity = result.apart()
		}
		event.Identity = identity(result.Identity, event.Identity)
		whole := err == nil && len(result.Failed) == 0
		t.handled = t.refused == nil && (whole || ctx.Err() == nil) // revoking a partition cancels its running attempts
		e.decide(t, event, &before, result, err)
		if e.undone(ctx, event) {
			return nil, true
		}
	}
	e.applyOutcome(t, event, &before, result)
	t.outputs, event.Destination = e.records(t, event, result, &w.slab)
	more, err := e.journal(event)
	if err != nil {
		e.cfg.Logger.ErrorContext(ctx, "journal failed; the event is not recorded", "source", r.Source.String(), "error", err)
	}
	t.outputs = append(t.outputs, more...)
	for _, out := range t.outputs {
		t.ResultBytes += len(out.Value)
	}
	return nil, false
}

// startOrWait reports whether a task may run now. If not, it returns the decision where its record waits, and updates
// st, the state of its key.
func (e *Engine) startOrWait(t *task, st *keyorder.State) (policy.Decision, bool) {
	if d, due := e.surface(t); !due {
		return d, false
	}
	if !t.Keyed || e.cfg.Ordering.Mode == OrderNone || t.unreadable() {
		return policy.Decision{}, true
	}
	next, d, sequence, run := e.cfg.Ordering.rules().Admit(*st, t.ordered(), e.cfg.Retries.Tiers, t.event.At)
	t.record.number(sequence)
	if run {
		return d, true
	}
	if topic := e.cfg.Retries.Tiers[d.Tier].Topic; !e.holds(topic, t) {
		t.refused = cmp.Or(t.refused, error(&fit.NoTierError{Topic: topic}))
		return policy.Decision{}, true
	}
	*st = next
	t.from.state.memory.Wait(t.raw.Key, next)
	return d, false
}

// unreadable reports whether the control headers are invalid, so that the record's due time and sequence are unknown.
func (t *task) unreadable() bool {
	_, malformed := errors.AsType[*header.Error](t.refused)
	return malformed
}

// ordered returns the properties of the task's record that decide the order of its key.
func (t *task) ordered() keyorder.Record {
	r := keyorder.Record{FromTier: t.from.tier != sourceTier, Number: t.record.Control.Sequence, DeadLetterID: t.deadLetterID(), Part: t.record.Control.Part}
	if t.record.Control.Remaining != nil || len(t.event.Dead) > 0 {
		r.OwnDeadLetter = t.record.wholeDeadLetterID()
	}
	return r
}

func (e *Engine) surface(t *task) (policy.Decision, bool) {
	if t.from.tier == sourceTier || t.unreadable() {
		return policy.Decision{}, true
	}
	return policy.Surface(e.cfg.Retries.Tiers, t.record.Control.Due, t.event.At)
}

// handle returns the handler's answer, which may be at hand already.
func (w *worker) handle(ctx context.Context, t *task) (Result, error) {
	if t.refused != nil {
		return Result{}, t.refused
	}
	if m := t.made; m != nil {
		t.made = nil
		return m.result, m.err
	}
	var result Result
	err := w.caller.Call(ctx, t.event.At.Add(-w.e.skew()), func(ctx context.Context) (err error) {
		result, err = w.e.call(ctx, &t.record)
		return err
	})
	return result, err
}

// call runs the handler once, and checks its answer.
func (e *Engine) call(ctx context.Context, r *Record) (result Result, err error) {
	result, err = e.cfg.Handler(ctx, r)
	if err == nil {
		err = Reject(result.check())
	}
	if err == nil && result.Close == "" {
		err = r.Fits(result.Outputs...)
		r.task.dated = slices.ContainsFunc(result.Outputs, func(out *kgo.Record) bool { return !out.Timestamp.IsZero() })
	}
	return result, err
}

func (r Result) check() error {
	if r.Close != "" && !r.Close.Closes() {
		return fmt.Errorf("handler closed the record as %q, want one of duplicate, superseded, filtered, skipped", r.Close)
	}
	for i, out := range r.Outputs {
		if out == nil || out.Topic == "" {
			return fmt.Errorf("handler's output %d has no topic", i)
		}
	}
	return r.checkParts()
}

// identityOf returns what the control headers tell about the content.
func identityOf(c *header.Control) Identity {
	return Identity{FeatureID: c.FeatureID, ContentHash: c.ContentHash, BBox: c.BBox, Marks: marksOf(c)}
}

// largeValue is the record size in bytes above which a result may share no memory with its record's value. An ID that is
// a slice of the value would keep all of it in memory until the commit.
const largeValue = 32 << 10

// apart returns the identity in memory of its own.
func (i Identity) apart() Identity {
	return Identity{
		FeatureID: strings.Clone(i.FeatureID), ContentHash: strings.Clone(i.ContentHash), BBox: strings.Clone(i.BBox),
		Marks: Marks{Lineage: strings.Clone(i.Lineage), Care: strings.Clone(i.Care), Sovereignty: strings.Clone(i.Sovereignty)},
	}
}

func identity(now, before Identity) Identity {
	return Identity{
		FeatureID:   cmp.Or(now.FeatureID, before.FeatureID),
		ContentHash: cmp.Or(now.ContentHash, before.ContentHash),
		BBox:        cmp.Or(now.BBox, before.BBox),
		Marks: Marks{
			Lineage:     cmp.Or(now.Lineage, before.Lineage),
			Care:        cmp.Or(now.Care, before.Care),
			Sovereignty: cmp.Or(now.Sovereignty, before.Sovereignty),
		},
	}
}

// decide turns the handler's answer into a decision. An event that must no longer take effect is closed, whatever the
// handler returned.
func (e *Engine) decide(t *task, event *Event, before *memory.Past, result *Result, err error) {
	closed := policy.Outcome("")
	result.Delete = result.Delete || t.raw.Value == nil
	switch {
	case err == nil && result.Close == "":
		closed = e.judge(t, before, event.Identity.ContentHash, result.Version, result.Delete)
	case err != nil && e.cfg.Retries.Classify(err).Transient() && e.superseded(t, before, result.Version, result.Delete):
		closed = policy.OutcomeSuperseded // but never duplicate: the handler's own storage beside Kafka may lack it
	}
	switch {
	case closed != "":
		*result = Result{Identity: result.Identity, Close: closed, Version: result.Version, Delete: result.Delete}
		event.Decision = policy.Decision{Outcome: closed, Reason: policy.ReasonOvertaken}
		event.Parts.Overtaken = event.Record.Control.Remaining.Parts()
	case err == nil && len(result.Failed) > 0:
		e.decideParts(t, event, result)
	case err == nil:
		event.Decision = policy.Decision{Outcome: cmp.Or(result.Close, policy.OutcomeDelivered), Reason: policy.ReasonHandled}
		if result.Close == "" && e.overwrites(t, before, result) {
			event.Decision.Reason = policy.ReasonForced
		}
		event.Note = result.Note
		e.endParts(event, result)
	default:
		failure := e.cfg.Retries.Classify(err)
		event.Failure = &failure
		event.Decision = e.orDeadLetter(t, policy.Decide(e.cfg.Retries.policies(), e.cfg.Retries.Tiers, tried(event.Record), failure, event.At, rand.Float64))
	}
}

// tried returns the record's history for the policy. The wait before this attempt comes from its headers: from the last
// failure to the due time. If the record waited for its predecessor, the due time is the predecessor's. Only
// decorrelated jitter uses the wait, and it bounds it.
func tried(r *Record) policy.Tried {
	t := policy.Tried{Attempts: r.Attempt}
	if c := r.Control; !c.FailedAt.IsZero() && c.Due.After(c.FailedAt) {
		t.LastDelay = c.Due.Sub(c.FailedAt)
	}
	return t
}

// applyOutcome records the attempt's outcome for the key in the partition's state.
func (e *Engine) applyOutcome(t *task, event *Event, before *memory.Past, result *Result) {
	if !t.Keyed {
		return
	}
	if event.Decision.Outcome == policy.OutcomeDeadLettered {
		event.DeadLetterID = cmp.Or(event.Record.Control.DeadLetterID, deadLetterID(event.Record))
	}
	effect := memory.Effect{Deletes: result.Delete, At: event.At}
	// A duplicate repeats the newest content of the key: nothing older may take effect after it.
	if event.took() || event.Decision.Outcome == policy.OutcomeDuplicate && e.cfg.Ordering.Mode != OrderNone {
		e.apply(t, event, before, result, &effect)
	}
	st, sequence := e.cfg.Ordering.rules().After(before.Order, t.ordered(), event.Decision, event.DeadLetterID, event.deadIndexes()...)
	st = e.cfg.Ordering.rules().PartsDied(st, len(event.Dead))
	if effect.Took {
		st = st.WithApplied(effect.Version)
		if result.Delete {
			st = st.WithDelete(effect.Version.Offset)
		}
	}
	effect.LateDelete = e.lateDelete(t, event, before, result)
	if effect.LateDelete >= 0 {
		st = st.WithDelete(effect.LateDelete)
	}
	if newest := before.LatestVersion(); newest != nil { // ledger and versions may forget it in time
		st = st.WithApplied(*newest).WithDelete(before.Deleted() - 1)
	}
	t.record.number(sequence)
	if st != before.Order || e.cfg.Ordering.Mode == OrderStrict && event.Decision.Outcome == policy.OutcomeParked {
		t.from.state.memory.Order(&t.change, t.raw.Key, st)
	}
	t.from.state.memory.Apply(&t.change, before, effect)
}

// lateDelete returns the source offset of a superseded delete, or -1 for every other event. The newer content stays, but
// everything before the delete in the source is older than it, whatever its version number, and must not take effect
// again. Without version numbers the offsets ensure this already.
func (e *Engine) lateDelete(t *task, event *Event, before *memory.Past, result *Result) int64 {
	if event.Decision.Outcome != policy.OutcomeSuperseded || !result.Delete || !e.cfg.Ordering.Versioned {
		return -1
	}
	v, _, _ := e.version(t, result.Version, true, before)
	return v.Offset
}

// apply sets the effect of an event that took effect, with its version. An event without a version is not compared, but
// its content is now the newest.
func (e *Engine) apply(t *task, event *Event, before *memory.Past, result *Result, effect *memory.Effect) {
	v, took, _ := e.version(t, result.Version, result.Delete, before)
	newest := before.LatestVersion()
	switch {
	case event.Decision.Outcome == policy.OutcomeDuplicate && took && newest != nil && v.Less(*newest), !took && newest == nil:
		return
	case !took:
		v = *newest
	}
	effect.Version, effect.Took = v, took
	effect.Content, effect.Hashed = event.effect(before)
}

func (e *Engine) journal(event *Event) (records []*kgo.Record, err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &classify.PanicError{Value: value, Stack: debug.Stack()}
		}
	}()
	records, err = e.cfg.Journal.Event(event)
	for _, r := range records {
		if r.Topic == "" {
			return nil, errors.New("a journal record has no topic")
		}
	}
	return records, err
}
