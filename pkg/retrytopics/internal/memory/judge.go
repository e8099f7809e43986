package memory

import (
	"math"

	"github.com/switchback-geo/switchback/internal/keyorder"
	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
	"github.com/switchback-geo/switchback/pkg/retrytopics/statetopic"
)

// Past is the state of a key before an event takes effect. Nothing else changes it during the attempt.
type Past struct {
	Order keyorder.State
	last  idempotency.Applied // last effective event
	known bool                // last is set
	kept  statetopic.Latest   // newest version of the key
	keeps bool                // kept is set

	content       [8]byte // of the current event, once computed
	asked, hashed bool
}

// ContentOf is idempotency.ContentOf of the event's content hash, computed once.
func (p *Past) ContentOf(hash string) (content [8]byte, ok bool) {
	if !p.asked {
		p.content, p.hashed = idempotency.ContentOf(hash)
		p.asked = true
	}
	return p.content, p.hashed
}

// LatestVersion returns the version of the newest event known to have taken effect, or nil.
func (p *Past) LatestVersion() *header.Version {
	v := p.Order.Applied
	if last := (header.Version{Number: p.last.Version, Offset: p.last.Offset}); p.known && (v == nil || v.Less(last)) {
		v = &last
	}
	if p.keeps && (v == nil || v.Less(p.kept.Version)) {
		v = &p.kept.Version
	}
	return v
}

// Deleted returns the source offset after the newest delete known to have taken effect.
func (p *Past) Deleted() int64 { return max(p.Order.Deleted, p.kept.Deleted) }

// outdates reports whether an event of a version is older than what took effect.
func (p *Past) outdates(v header.Version) bool {
	newest := p.LatestVersion()
	return newest != nil && statetopic.Latest{Version: *newest, Deleted: p.Deleted()}.Outdates(v)
}

// Event is an event as the memory judges it.
type Event struct {
	Rules     keyorder.Rules
	Record    keyorder.Record // for Judge and Supersedes
	Versioned bool            // events have version numbers
	Control   *header.Control

	Offset  int64  // orders the event: where it first appeared, with the generation of the source topic
	Number  *int64 // its version; nil if the offset is the version
	Deletes bool
	// Forced means that an operator lifted the version guard for the event's replay. The event then counts as if it first
	// appeared at Replayed, where it was put back. It is newer than everything before that position, whatever its version,
	// and older than a newer event after that position, even if it waited in a retry topic and takes effect later. The
	// remembered version never becomes older: an event in between stays superseded.
	Forced   bool
	Replayed int64
}

// Version returns the version of an event. A delete is newer than every earlier event of its key, so it takes the newest
// one's number. A forced replay that is older than the newest event does the same: its own position in the source topic
// decides, and forced is true. ok is false if the event has no version.
func (p *Past) Version(e *Event) (v header.Version, ok, forced bool) {
	v.Offset = e.Offset
	newest := p.LatestVersion()
	switch {
	case e.Deletes && newest != nil:
		v.Number = newest.Number
	case e.Number != nil:
		v.Number = *e.Number
	case e.Versioned && e.Deletes:
		v.Number = math.MinInt64 // there is nothing before it; a later event is newer, whatever its number
	case e.Versioned && e.Control.PartVersion == nil:
		return v, false, false
	}
	v = e.Control.Compared(v, newest)
	if e.Forced && p.outdates(v) {
		return header.Version{Number: max(v.Number, newest.Number), Offset: e.Replayed}, true, true
	}
	return v, true, false
}

// Judge reports whether an event with this content hash still has to take effect. It returns "" if it has,
// OutcomeDuplicate if it equals the last effective event of its key, OutcomeSuperseded if a newer event took effect.
func (p *Past) Judge(e *Event, contentHash string) policy.Outcome {
	if p.known {
		if content, ok := p.ContentOf(contentHash); ok && content == p.last.Content {
			return policy.OutcomeDuplicate
		}
	}
	if p.Supersedes(e) {
		return policy.OutcomeSuperseded
	}
	return ""
}

// Supersedes reports whether a newer event of the key took effect.
func (p *Past) Supersedes(e *Event) bool {
	own, ok, _ := p.Version(e)
	return ok && e.Rules.Guards(p.Order, e.Record) && p.outdates(own)
}
