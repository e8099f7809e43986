package plan

import (
	"fmt"
	"slices"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// Action is what a replay does with one dead letter. It is a closed list (see [Actions]).
type Action string

// The actions.
const (
	Reinject  Action = "reinject"  // put back into the source topic
	Duplicate Action = "duplicate" // close: a later dead letter of the same content is put back
	Leave     Action = "leave"     // do nothing; Line.Why is the reason
)

// Actions returns all actions.
func Actions() []Action { return []Action{Reinject, Duplicate, Leave} }

// Valid reports whether a is one of [Actions].
func (a Action) Valid() bool { return slices.Contains(Actions(), a) }

// MaxMessage bounds the message about one dead letter, in bytes.
const MaxMessage = 1024

// Verdict is the result of today's transform for a dead letter: decoding, the gates and the mapping. It does not
// include the remote steps that follow in the consumer.
type Verdict struct {
	Passes     bool           `json:"passes"`
	Superseded bool           `json:"superseded,omitzero"` // it passes, but a newer event of its key was applied: the consumer will close it unless it is forced
	Code       classify.Code  `json:"code,omitzero"`
	Class      classify.Class `json:"class,omitzero"`
	Stage      classify.Stage `json:"stage,omitzero"`
	Message    string         `json:"message,omitzero"`
}

// Line is one dead letter of a plan.
type Line struct {
	Partition      int32   `json:"partition"` // of the DLQ
	Offset         int64   `json:"offset"`    // of the record in the DLQ
	ID             string  `json:"id"`
	ContentHash    string  `json:"content_hash"`
	Group          string  `json:"group"`         // fingerprint of the error that it died of
	Died           string  `json:"died,omitzero"` // code of the error that it died of
	FeatureID      string  `json:"feature_id,omitzero"`
	ReprocessCount int     `json:"reprocess_count,omitzero"` // when the plan was made; a change makes the line stale
	StateAt        int64   `json:"state_at,omitzero"`        // Unix milliseconds of its last state; 0 without one. A change makes the line stale
	Reopened       bool    `json:"reopened,omitzero"`        // a replay put it back before, and an operator made it pending again
	Size           int     `json:"size"`                     // bytes of the value
	Do             Action  `json:"do"`
	Target         string  `json:"target,omitzero"`        // topic that a dead letter of a DLQ without a pipeline goes to
	Becomes        string  `json:"becomes,omitzero"`       // hash of the value after the rewrite; "" without a rewrite
	Shape          string  `json:"shape,omitzero"`         // fields that the rewrite changes
	Change         string  `json:"change,omitzero"`        // some of the changes, for people
	Absent         string  `json:"absent,omitzero"`        // fields that expressions read and the value does not have
	Force          bool    `json:"force_version,omitzero"` // it may overwrite newer data
	Reversed       bool    `json:"reversed,omitzero"`      // a younger dead letter of its key goes back, or went back, before it
	DuplicateOf    string  `json:"duplicate_of,omitzero"`  // for Duplicate: the dead letter of the same content that is put back
	Why            string  `json:"why,omitzero"`           // for Leave
	Overtaken      bool    `json:"overtaken,omitzero"`     // for Leave: the consumer closed it as superseded; it must be reopened first
	Today          Verdict `json:"today,omitzero"`         // result of today's transform; zero for Leave
}

// DLQ returns the position of the dead letter's record in the given DLQ.
func (l *Line) DLQ(topic string) header.Position {
	return header.Position{Topic: topic, Partition: l.Partition, Offset: l.Offset}
}

// overwrites reports whether the dead letter will replace a newer event.
func (l *Line) overwrites() bool { return l.Force && l.Today.Passes && l.Today.Superseded }

// maxName bounds the IDs, codes and fingerprints in a line, in bytes.
const maxName = 4096 // error codes of other software can be long

// order checks that the dead letters of a plan follow each other as in the DLQ.
type order struct{ last *header.Position }

// next returns an error unless a dead letter follows the one before.
func (o *order) next(l *Line) error {
	if last := o.last; last != nil && (l.Partition < last.Partition || l.Partition == last.Partition && l.Offset <= last.Offset) {
		return fmt.Errorf("dead letter %s at %d/%d comes after one at %d/%d", l.ID, l.Partition, l.Offset, last.Partition, last.Offset)
	}
	o.last = &header.Position{Partition: l.Partition, Offset: l.Offset}
	return nil
}

// check returns an error if a field is invalid.
func (l *Line) check() error {
	switch {
	case l.ID == "":
		return fmt.Errorf("a dead letter without an id")
	case l.Partition < 0 || l.Offset < 0:
		return fmt.Errorf("dead letter %s: partition %d, offset %d: both start at 0", l.ID, l.Partition, l.Offset)
	case !l.Do.Valid():
		return fmt.Errorf("dead letter %s: unknown action %q; use one of %v", l.ID, string(l.Do), Actions())
	case len(l.ID) > maxName || len(l.ContentHash) > maxName || len(l.Group) > maxName || len(l.Died) > maxName || len(l.Shape) > maxName || len(l.Absent) > maxName || len(l.Today.Code) > maxName:
		return fmt.Errorf("dead letter %.40s…: its id, content hash, group or code has more than %d bytes", l.ID, maxName)
	case l.ReprocessCount < 0 || l.Size < 0:
		return fmt.Errorf("dead letter %s: reprocess_count is %d, size is %d: neither can be negative", l.ID, l.ReprocessCount, l.Size)
	}
	return nil
}

// Leave makes a replay leave the dead letter, for a reason.
func (l *Line) Leave(why string) {
	l.Do, l.DuplicateOf, l.Why = Leave, "", header.Clip(why, MaxMessage)
}
