package attempt

import (
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/memory"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// effect returns what the attempt does to its key, and the number of its record among those of the key that wait.
func (a *Shared) effect(t *Task, before *memory.Past) (effect memory.Effect, number int64) {
	event := &t.Event
	effect = a.applied(t, before)
	st, number := rulesOf(&a.cfg.Ordering).After(before.Order, t.ordered(), event.Decision, event.DeadLetterID, deadIndexes(event)...)
	st = rulesOf(&a.cfg.Ordering).PartsDied(st, len(event.Dead))
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
	effect.Ordered = st != before.Order || a.cfg.Ordering.Mode == retrytopics.OrderStrict && event.Decision.Outcome == policy.OutcomeParked
	return effect, number
}

// lateDelete returns the source offset of a superseded delete, or -1 for every other event. The newer content stays, but
// everything before the delete in the source is older than it, whatever its version number, and must not take effect
// again. Without version numbers the offsets ensure this already.
func (a *Shared) lateDelete(t *Task, before *memory.Past) int64 {
	if t.Event.Decision.Outcome != policy.OutcomeSuperseded || !t.Result.Delete || !a.cfg.Ordering.Versioned {
		return -1
	}
	v, _, _ := a.version(t, t.Result.Version, true, before)
	return v.Offset
}

// applied returns the effect of the attempt except for the order of the key. An event without a version is not
// compared, but its content is now the newest.
func (a *Shared) applied(t *Task, before *memory.Past) memory.Effect {
	event, result := &t.Event, &t.Result
	effect := memory.Effect{Deletes: result.Delete, At: event.At, LateDelete: a.lateDelete(t, before)}
	duplicate := event.Decision.Outcome == policy.OutcomeDuplicate
	// A duplicate repeats the newest content of the key: nothing older may take effect after it.
	if !took(event) && (!duplicate || a.cfg.Ordering.Mode == retrytopics.OrderNone) {
		return effect
	}
	v, versioned, _ := a.version(t, result.Version, result.Delete, before)
	newest := before.LatestVersion()
	switch {
	case duplicate && versioned && newest != nil && v.Less(*newest), !versioned && newest == nil:
		return effect
	case !versioned:
		v = *newest
	}
	effect.Version, effect.Took = v, versioned
	effect.Content, effect.Hashed = contentOf(event, before)
	return effect
}
