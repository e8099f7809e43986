package retrytopics

import (
	"cmp"
	"errors"
	"math"
	"time"

	"github.com/switchback-geo/switchback/internal/keyorder"
	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
	"github.com/switchback-geo/switchback/pkg/retrytopics/statetopic"
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

// past is what is known of a task's key before its event takes effect. Nothing else changes it during the attempt.
type past struct {
	state keyorder.State
	last  idempotency.Applied // last effective event
	known bool                // last is known
	kept  statetopic.Latest   // newest version of the key
	keeps bool                // kept is known

	content       [8]byte // of the current event, once computed
	asked, hashed bool
}

// contentOf is idempotency.ContentOf of the event's content hash, computed once.
func (p *past) contentOf(hash string) (content [8]byte, ok bool) {
	if !p.asked {
		p.content, p.hashed = idempotency.ContentOf(hash)
		p.asked = true
	}
	return p.content, p.hashed
}

func (e *Engine) past(t *task, now time.Time) past {
	if !t.Keyed {
		return past{}
	}
	return t.from.state.past(t.raw.Key, t.change.hash, now)
}

// latestVersion returns the version of the newest event known to have taken effect.
func (p *past) latestVersion() *header.Version {
	v := p.state.Applied
	if last := (header.Version{Number: p.last.Version, Offset: p.last.Offset}); p.known && (v == nil || v.Less(last)) {
		v = &last
	}
	if p.keeps && (v == nil || v.Less(p.kept.Version)) {
		v = &p.kept.Version
	}
	return v
}

// deleted returns the source offset after the newest delete known to have taken effect.
func (p *past) deleted() int64 { return max(p.state.Deleted, p.kept.Deleted) }

// judge is Record.Judge for one task, whose event may be a delete.
func (e *Engine) judge(t *task, before *past, contentHash string, number *int64, deletes bool) policy.Outcome {
	if !t.Keyed {
		return ""
	}
	if before.known {
		if content, ok := before.contentOf(contentHash); ok && content == before.last.Content {
			return policy.OutcomeDuplicate
		}
	}
	if e.superseded(t, before, number, deletes) {
		return policy.OutcomeSuperseded
	}
	return ""
}

// superseded reports whether a newer event of the task's key took effect.
func (e *Engine) superseded(t *task, before *past, number *int64, deletes bool) bool {
	if !t.Keyed {
		return false
	}
	own, ok, _ := e.version(t, number, deletes, before)
	return ok && e.cfg.Ordering.rules().Guards(before.state, t.ordered()) && before.outdates(own)
}

// outdates reports whether an event of a version is older than what took effect.
func (p *past) outdates(v header.Version) bool {
	newest := p.latestVersion()
	return newest != nil && statetopic.Latest{Version: *newest, Deleted: p.deleted()}.Outdates(v)
}

// version returns the version of a task's event. A delete (a tombstone, or Result.Delete) is newer than every earlier
// event of its key, so it takes the newest one's number. A forced replay that is older than the newest event does the
// same: its own position in the source topic decides (see forced). ok is false if the event has no version.
func (e *Engine) version(t *task, number *int64, deletes bool, before *past) (v header.Version, ok, lifted bool) {
	v.Offset = t.versionPosition()
	newest := before.latestVersion()
	switch {
	case deletes && newest != nil:
		v.Number = newest.Number
	case number != nil:
		v.Number = *number
	case e.cfg.Ordering.Versioned && deletes:
		v.Number = math.MinInt64 // nothing is known before it; a later event is newer, whatever its number
	case e.cfg.Ordering.Versioned && t.record.Control.PartVersion == nil:
		return v, false, false
	}
	v = t.record.Control.Compared(v, newest)
	if e.forced(t) && before.outdates(v) {
		return header.Version{Number: max(v.Number, newest.Number), Offset: header.VersionPosition(t.from.state.generation, t.record.Control.ReplaySource.Offset)}, true, true
	}
	return v, true, false
}

// forced reports whether an operator lifted the version guard for the task's replay. The event then counts as if it
// first appeared where it was put back. It is newer than everything before that position, whatever its version, and
// older than a newer event after that position, even if it waited in a retry topic and takes effect later. The
// remembered version never becomes older: an event in between stays superseded.
func (e *Engine) forced(t *task) bool {
	return t.record.Control.ForceVersion && e.cfg.Ordering.Mode != OrderNone
}

// overwrites reports whether a forced replay takes effect over a newer event.
func (e *Engine) overwrites(t *task, before *past, result *Result) bool {
	if !t.Keyed || !e.forced(t) {
		return false
	}
	_, _, lifted := e.version(t, result.Version, result.Delete, before)
	return lifted
}

// deadLetterID returns the ID of the dead letter that the task's record replays.
func (t *task) deadLetterID() string {
	if t.record.Control.ReplayID == "" {
		return ""
	}
	return t.record.Control.DeadLetterID
}
