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

// attempt runs the handler once, and writes what came of it into t.done. It returns an UnavailableError if a dependency
// was down and no attempt was made, and undone=true if the result must be discarded.
func (w *worker) attempt(ctx context.Context, t *task) (held *UnavailableError, undone bool) {
	e, event := w.e, &t.event
	started := e.now()
	w.caller.Begin(&t.record.Source)
	defer w.caller.End()
	if event.Record != nil {
		t.done = done{} // of an attempt that did not count
	}
	t.Down, t.ResultBytes = nil, 0
	if t.Keyed && (e.cfg.Dedupe.on() || e.cfg.versions()) {
		t.change.Hash = idempotency.HashKey(t.raw.Key)
	}
	event.Record, event.Identity, event.At = &t.record, identityOf(t.record.Control), started
	before := e.past(t, started)
	turn := e.turn(t, before.Order)
	t.record.number(turn.number)
	if turn.waits {
		event.Decision, before.Order = turn.decision, turn.order
	} else {
		if held := w.handled(ctx, t, turn.refused, &before); held != nil {
			return held, false
		}
		if e.undone(ctx, event) {
			return nil, true
		}
	}
	w.end(ctx, t, &before)
	return nil, false
}

// handled asks the handler, and decides by its answer. refused is why the record cannot be attempted, if it cannot.
func (w *worker) handled(ctx context.Context, t *task, refused error, before *memory.Past) *UnavailableError {
	e, event, result := w.e, &t.event, &t.result
	started := event.At
	if t.from.tier != sourceTier && refused == nil {
		event.Lateness = started.Sub(t.record.Control.Due)
	}
	var err error
	*result, err = w.answer(ctx, t, refused)
	if held, ok := errors.AsType[*UnavailableError](err); ok {
		met := held.outage()
		if held.Err == nil || !w.sched.Counts(&t.Task, met) {
			return held
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
	t.handled = refused == nil && (whole || ctx.Err() == nil) // revoking a partition cancels its running attempts
	e.decide(t, event, before, result, err)
	return nil
}

// end makes the records of an attempt that counts, and tells the memory what it did to its key.
func (w *worker) end(ctx context.Context, t *task, before *memory.Past) {
	e, event := w.e, &t.event
	event.DeadLetterID = event.deadLetterID()
	if t.Keyed {
		effect, number := e.effect(t, before)
		t.record.number(number)
		t.from.state.memory.Apply(&t.change, t.raw.Key, before, effect)
	}
	t.outputs, event.Destination = e.records(t, event, &t.result, &w.slab)
	more, err := e.journal(event)
	if err != nil {
		e.cfg.Logger.ErrorContext(ctx, "journal failed; the event is not recorded", "source", t.record.Source.String(), "error", err)
	}
	t.outputs = append(t.outputs, more...)
	for _, out := range t.outputs {
		t.ResultBytes += len(out.Value)
	}
}

// turn is whether a task may run now.
type turn struct {
	waits    bool
	decision policy.Decision // where a record that waits does so
	order    keyorder.State  // of its key meanwhile
	number   int64           // of the record among those of its key that wait
	refused  error           // why a record that may run cannot be attempted
}

// turn returns whether a task may run now. order is that of its key.
func (e *Engine) turn(t *task, order keyorder.State) turn {
	runs := turn{number: t.record.Control.Sequence, refused: t.refused}
	if d, due := e.surface(t); !due {
		return turn{waits: true, decision: d, order: order, number: runs.number}
	}
	if !t.Keyed || e.cfg.Ordering.Mode == OrderNone || t.unreadable() {
		return runs
	}
	next, d, number, run := e.cfg.Ordering.rules().Admit(order, t.ordered(), e.cfg.Retries.Tiers, t.event.At)
	runs.number = number
	if run {
		return runs
	}
	if topic := e.cfg.Retries.Tiers[d.Tier].Topic; !e.holds(topic, t) {
		runs.refused = cmp.Or(t.refused, error(&fit.NoTierError{Topic: topic}))
		return runs
	}
	return turn{waits: true, decision: d, order: next, number: number}
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

// answer returns the handler's answer, which may be at hand already.
func (w *worker) answer(ctx context.Context, t *task, refused error) (Result, error) {
	if refused != nil {
		return Result{}, refused
	}
	if m := t.made; m != nil {
		t.made = nil
		return m.result, m.err
	}
	var result Result
	err := w.caller.Call(ctx, t.event.At.Add(-w.e.skew()), func(ctx context.Context) (err error) {
		result = Result{} // a call that panics has no answer, not that of the call before it
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

// effect returns what the attempt does to its key, and the number of its record among those of the key that wait.
func (e *Engine) effect(t *task, before *memory.Past) (effect memory.Effect, number int64) {
	event := &t.event
	effect = e.applied(t, before)
	st, number := e.cfg.Ordering.rules().After(before.Order, t.ordered(), event.Decision, event.DeadLetterID, event.deadIndexes()...)
	st = e.cfg.Ordering.rules().PartsDied(st, len(event.Dead))
	if effect.Took {
		st = st.WithApplied(effect.Version)
		if effect.Deletes {
			st = st.WithDelete(effect.Version.Offset)
		}
	}
	if effect.LateDelete >= 0 {
		st = st.WithDelete(effect.LateDelete)
	}
	if newest := before.LatestVersion(); newest != nil { // ledger and versions may forget it in time
		st = st.WithApplied(*newest).WithDelete(before.Deleted() - 1)
	}
	effect.Order = st
	effect.Ordered = st != before.Order || e.cfg.Ordering.Mode == OrderStrict && event.Decision.Outcome == policy.OutcomeParked
	return effect, number
}

// lateDelete returns the source offset of a superseded delete, or -1 for every other event. The newer content stays, but
// everything before the delete in the source is older than it, whatever its version number, and must not take effect
// again. Without version numbers the offsets ensure this already.
func (e *Engine) lateDelete(t *task, before *memory.Past) int64 {
	if t.event.Decision.Outcome != policy.OutcomeSuperseded || !t.result.Delete || !e.cfg.Ordering.Versioned {
		return -1
	}
	v, _, _ := e.version(t, t.result.Version, true, before)
	return v.Offset
}

// applied returns the effect of the attempt but for the order of the key. An event without a version is not compared, but
// its content is now the newest.
func (e *Engine) applied(t *task, before *memory.Past) memory.Effect {
	event, result := &t.event, &t.result
	effect := memory.Effect{Deletes: result.Delete, At: event.At, LateDelete: e.lateDelete(t, before)}
	duplicate := event.Decision.Outcome == policy.OutcomeDuplicate
	// A duplicate repeats the newest content of the key: nothing older may take effect after it.
	if !event.took() && (!duplicate || e.cfg.Ordering.Mode == OrderNone) {
		return effect
	}
	v, versioned, _ := e.version(t, result.Version, result.Delete, before)
	newest := before.LatestVersion()
	switch {
	case duplicate && versioned && newest != nil && v.Less(*newest), !versioned && newest == nil:
		return effect
	case !versioned:
		v = *newest
	}
	effect.Version, effect.Took = v, versioned
	effect.Content, effect.Hashed = event.effect(before)
	return effect
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
