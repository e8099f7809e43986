package retrytopics

import (
	"cmp"
	"errors"
	"time"

	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/memory"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// Dedupe sets how long the engine remembers the last effective event of each key. An event with an equal content hash is
// closed as a duplicate; A → B → A is three changes. The newest version is remembered separately (Ordering.Versions).
// The handler must set Result.ContentHash. The zero value turns deduplication off.
type Dedupe struct {
	Window  time.Duration // 0: off
	MaxKeys int           // per partition; beyond it the oldest are forgotten. Defaults to 10 million.
	// LedgerTopic has as many partitions as the source and keeps its records for Window. Defaults to <Source>.ledger.
	LedgerTopic string
}

func (d Dedupe) on() bool { return d.Window > 0 }

func (d Dedupe) withDefaults(source string) Dedupe {
	d.MaxKeys = cmp.Or(d.MaxKeys, 10_000_000)
	d.LedgerTopic = cmp.Or(d.LedgerTopic, source+".ledger")
	return d
}

func (d Dedupe) faults() []error {
	if d.Window < 0 || d.MaxKeys < 1 {
		return []error{errors.New("Dedupe.Window and Dedupe.MaxKeys must not be negative")}
	}
	return nil
}

// Judge reports whether an event with this content and version still has to take effect. It returns "" if it has,
// OutcomeDuplicate if it equals the last effective event of its key, OutcomeSuperseded if a newer event took effect.
// version is nil if the source offset is the version. A handler may call Judge early to save work; the engine judges
// again before the commit.
func (r *Record) Judge(contentHash string, version *int64) policy.Outcome {
	if r.task == nil {
		return ""
	}
	before := r.engine.past(r.task, r.engine.now())
	return r.engine.judge(r.task, &before, contentHash, version, r.task.raw.Value == nil)
}

// Version returns the version with which the event takes effect. A handler that writes outside Kafka must guard its
// write by it: such a write is not undone when the transaction aborts, and may come late from an instance that has lost
// the partition. number and deletes are the later Result.Version and Result.Delete. Version is the same in each attempt
// until a newer event of the key takes effect. ok is false if the event has none and must not be written.
func (r *Record) Version(number *int64, deletes bool) (v header.Version, ok bool) {
	if r.task == nil {
		return header.Version{}, false
	}
	before := r.engine.past(r.task, r.engine.now())
	v, ok, _ = r.engine.version(r.task, number, deletes || r.task.raw.Value == nil, &before)
	return v, ok
}

// past returns what is known of a task's key before its event takes effect.
func (e *Engine) past(t *task, now time.Time) memory.Past {
	if !t.Keyed {
		return memory.Past{}
	}
	return t.from.state.memory.Past(t.raw.Key, t.change.Hash, now)
}

// event returns what the memory must know of a task's event to find its version. number and deletes are those of the
// handler's result.
func (e *Engine) event(t *task, number *int64, deletes bool) memory.Event {
	return memory.Event{
		Rules: e.cfg.Ordering.rules(), Versioned: e.cfg.Ordering.Versioned, Control: t.record.Control,
		Offset: t.versionPosition(), Number: number, Deletes: deletes,
		Forced:   t.record.Control.ForceVersion && e.cfg.Ordering.Mode != OrderNone,
		Replayed: header.VersionPosition(min(t.record.Control.ReplayGeneration, t.from.state.generation), t.record.Control.ReplaySource.Offset),
	}
}

// judge is Record.Judge for one task, whose event may be a delete.
func (e *Engine) judge(t *task, before *memory.Past, contentHash string, number *int64, deletes bool) policy.Outcome {
	if !t.Keyed {
		return ""
	}
	event := e.event(t, number, deletes)
	event.Record = t.ordered()
	return before.Judge(&event, contentHash)
}

// superseded reports whether a newer event of the task's key took effect.
func (e *Engine) superseded(t *task, before *memory.Past, number *int64, deletes bool) bool {
	if !t.Keyed {
		return false
	}
	event := e.event(t, number, deletes)
	event.Record = t.ordered()
	return before.Supersedes(&event)
}

// version returns the version of a task's event, see memory.Past.Version.
func (e *Engine) version(t *task, number *int64, deletes bool, before *memory.Past) (v header.Version, ok, forced bool) {
	event := e.event(t, number, deletes)
	return before.Version(&event)
}

// overwrites reports whether a forced replay takes effect over a newer event.
func (e *Engine) overwrites(t *task, before *memory.Past, result *Result) bool {
	event := e.event(t, result.Version, result.Delete)
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
