package attempt

import (
	"time"

	"github.com/switchback-geo/switchback/internal/keyorder"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/memory"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// rulesOf returns the rules of the order of a key.
func rulesOf(o *retrytopics.Ordering) keyorder.Rules {
	return keyorder.Rules{Mode: keyorder.Mode(o.Mode), HoldKey: o.OnDeadLetter == retrytopics.OnDeadLetterHoldKey}
}

// Judge is Record.Judge.
func (t *Task) Judge(contentHash string, version *int64) policy.Outcome {
	before := t.by.past(t, t.by.Now())
	return t.by.judge(t, &before, contentHash, version, t.Raw.Value == nil)
}

// Version is Record.Version.
func (t *Task) Version(number *int64, deletes bool) (v header.Version, ok bool) {
	before := t.by.past(t, t.by.Now())
	v, ok, _ = t.by.version(t, number, deletes || t.Raw.Value == nil, &before)
	return v, ok
}

// past returns what the memory has of a task's key before its event takes effect.
func (a *Shared) past(t *Task, now time.Time) memory.Past {
	if !t.Keyed {
		return memory.Past{}
	}
	return t.State.Memory.Past(t.Raw.Key, t.Change.Hash, now)
}

// Event returns the properties of a task's event from which the memory finds its version. number and deletes are
// those of the handler's result.
func (a *Shared) Event(t *Task, number *int64, deletes bool) memory.Event {
	return memory.Event{
		Rules: rulesOf(&a.cfg.Ordering), Versioned: a.cfg.Ordering.Versioned, Control: t.Record.Control,
		Offset: t.versionPosition(), Number: number, Deletes: deletes,
		Forced:   t.Record.Control.ForceVersion && a.cfg.Ordering.Mode != retrytopics.OrderNone,
		Replayed: header.VersionPosition(min(t.Record.Control.ReplayGeneration, t.State.Generation), t.Record.Control.ReplaySource.Offset),
	}
}

// judge is Record.Judge for one task, whose event may be a delete.
func (a *Shared) judge(t *Task, before *memory.Past, contentHash string, number *int64, deletes bool) policy.Outcome {
	if !t.Keyed {
		return ""
	}
	event := a.Event(t, number, deletes)
	event.Record = t.ordered()
	return before.Judge(&event, contentHash)
}

// superseded reports whether a newer event of the task's key took effect.
func (a *Shared) superseded(t *Task, before *memory.Past, number *int64, deletes bool) bool {
	if !t.Keyed {
		return false
	}
	event := a.Event(t, number, deletes)
	event.Record = t.ordered()
	return before.Supersedes(&event)
}

// version returns the version of a task's event, see memory.Past.Version.
func (a *Shared) version(t *Task, number *int64, deletes bool, before *memory.Past) (v header.Version, ok, forced bool) {
	event := a.Event(t, number, deletes)
	return before.Version(&event)
}

// overwrites reports whether a forced replay takes effect over a newer event.
func (a *Shared) overwrites(t *Task, before *memory.Past, result *retrytopics.Result) bool {
	event := a.Event(t, result.Version, result.Delete)
	if !t.Keyed || !event.Forced {
		return false
	}
	_, _, forced := before.Version(&event)
	return forced
}

// deadLetterID returns the ID of the dead letter that the task's record replays.
func (t *Task) deadLetterID() string {
	if t.Record.Control.ReplayID == "" {
		return ""
	}
	return t.Record.Control.DeadLetterID
}
