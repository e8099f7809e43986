package retrytopics

import (
	"time"

	"github.com/switchback-geo/switchback/internal/keyorder"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/memory"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// rulesOf returns the rules of the order of a key.
func rulesOf(o *Ordering) keyorder.Rules {
	return keyorder.Rules{Mode: keyorder.Mode(o.Mode), HoldKey: o.OnDeadLetter == OnDeadLetterHoldKey}
}

// Judge is Record.Judge.
func (t *task) Judge(contentHash string, version *int64) policy.Outcome {
	before := t.by.past(t, t.by.now())
	return t.by.judge(t, &before, contentHash, version, t.raw.Value == nil)
}

// Version is Record.Version.
func (t *task) Version(number *int64, deletes bool) (v header.Version, ok bool) {
	before := t.by.past(t, t.by.now())
	v, ok, _ = t.by.version(t, number, deletes || t.raw.Value == nil, &before)
	return v, ok
}

// past returns what is known of a task's key before its event takes effect.
func (a *attempts) past(t *task, now time.Time) memory.Past {
	if !t.Keyed {
		return memory.Past{}
	}
	return t.state.memory.Past(t.raw.Key, t.change.Hash, now)
}

// event returns what the memory must know of a task's event to find its version. number and deletes are those of the
// handler's result.
func (a *attempts) event(t *task, number *int64, deletes bool) memory.Event {
	return memory.Event{
		Rules: rulesOf(&a.cfg.Ordering), Versioned: a.cfg.Ordering.Versioned, Control: t.record.Control,
		Offset: t.versionPosition(), Number: number, Deletes: deletes,
		Forced:   t.record.Control.ForceVersion && a.cfg.Ordering.Mode != OrderNone,
		Replayed: header.VersionPosition(min(t.record.Control.ReplayGeneration, t.state.generation), t.record.Control.ReplaySource.Offset),
	}
}

// judge is Record.Judge for one task, whose event may be a delete.
func (a *attempts) judge(t *task, before *memory.Past, contentHash string, number *int64, deletes bool) policy.Outcome {
	if !t.Keyed {
		return ""
	}
	event := a.event(t, number, deletes)
	event.Record = t.ordered()
	return before.Judge(&event, contentHash)
}

// superseded reports whether a newer event of the task's key took effect.
func (a *attempts) superseded(t *task, before *memory.Past, number *int64, deletes bool) bool {
	if !t.Keyed {
		return false
	}
	event := a.event(t, number, deletes)
	event.Record = t.ordered()
	return before.Supersedes(&event)
}

// version returns the version of a task's event, see memory.Past.Version.
func (a *attempts) version(t *task, number *int64, deletes bool, before *memory.Past) (v header.Version, ok, forced bool) {
	event := a.event(t, number, deletes)
	return before.Version(&event)
}

// overwrites reports whether a forced replay takes effect over a newer event.
func (a *attempts) overwrites(t *task, before *memory.Past, result *Result) bool {
	event := a.event(t, result.Version, result.Delete)
	if !t.Keyed || !event.Forced {
		return false
	}
	_, _, forced := before.Version(&event)
	return forced
}

// deadLetterID returns the ID of the dead letter that the task's record replays.
func (t *task) deadLetterID() string {
	if t.record.Control.ReplayID == "" {
		return ""
	}
	return t.record.Control.DeadLetterID
}
