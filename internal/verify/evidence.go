package verify

import (
	"time"

	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// Appearance is a record of the source topic.
type Appearance struct {
	At    header.Position
	Time  time.Time // of the record
	Claim *Claim    // of a replay; nil for any other record
	// Unread means that only the record's position is known.
	Unread bool
}

// Claim is what a replay claims to repeat.
type Claim struct {
	Root       header.Position
	Generation int
	Part       header.Part
	Doubtful   bool // its proof names a key that the pipeline no longer has, so it may or may not be a replay
}

// Place is the place of a source record, according to a record of a topic after the source.
type Place struct {
	In         PlaceKind
	At         header.Position // position of that record
	Root       header.Position // position in the source
	Generation int             // of the source
	Pipeline   string          // its writer
	Part       header.Part
	Rest       bool      // only some of its parts
	Edited     bool      // a person edited the dead letter; this is its current form
	Due        time.Time // in a tier
}

// PlaceKind is the kind of a topic after the source. It is a closed list (see PlaceKinds).
type PlaceKind string

// The kinds of topics.
const (
	InOutput PlaceKind = "output"
	InDLQ    PlaceKind = "DLQ"
	InTier   PlaceKind = "tier"
)

// PlaceKinds lists every kind.
func PlaceKinds() []PlaceKind { return []PlaceKind{InOutput, InDLQ, InTier} }

// closings are the decisions that end a record without a trace in output and DLQ. A fact counts them from 1.
func closings() []audit.Decision {
	return []audit.Decision{audit.Duplicate, audit.Superseded, audit.Filtered, audit.Skipped}
}

// waiting is a record of a tier.
type waiting struct {
	at   header.Position
	root int64
	part header.Part
	rest bool
	due  time.Time
}

// repeat is a record of the source that is a replay.
type repeat struct {
	at    header.Position
	claim Claim
}

// gap is a run of offsets that were deleted before the group had finished them.
type gap struct {
	topic     string
	partition int32
	from, to  int64 // to is exclusive
}
