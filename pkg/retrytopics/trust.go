package retrytopics

import (
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// Doubt is the reason why the engine does not trust the control headers of a source record. It is a closed list (see
// Doubts). Everybody who may write to the source can write such headers, so they count only if Origin.Proven confirms
// them.
type Doubt string

// The doubts.
const (
	DoubtMissing    Doubt = "missing"     // the record claims to be a replay and has no proof
	DoubtMalformed  Doubt = "malformed"   // the proof cannot be parsed
	DoubtUnknownKey Doubt = "unknown_key" // the proof was made with a key that this pipeline does not have
	DoubtInvalid    Doubt = "invalid"     // the proof belongs to another record
	DoubtTopic      Doubt = "topic"       // the claimed position is in another topic: a dead letter of another pipeline
	DoubtPosition   Doubt = "position"    // proven, but the claimed position does not precede the record's own
)

// Doubts returns every doubt.
func Doubts() []Doubt {
	return []Doubt{DoubtMissing, DoubtMalformed, DoubtUnknownKey, DoubtInvalid, DoubtTopic, DoubtPosition}
}

// DoubtError is a proof that does not hold. Origin.Proven returns it; any other error counts as DoubtInvalid.
type DoubtError struct {
	Doubt  Doubt
	Reason string // in words
}

// Error returns the reason.
func (e *DoubtError) Error() string { return e.Reason }

// Unproven is the default of Origin.Proven. It confirms no record, so no replay is trusted.
func Unproven(*kgo.Record) error {
	return &DoubtError{DoubtMissing, "this pipeline has no key that proves replays, so it trusts none"}
}

// TrustProducers is an Origin.Proven that confirms every record. It is for source topics that only trusted software
// may write to: anyone who writes there can close dead letters and force old versions. An impossible position is not
// trusted even then.
func TrustProducers(*kgo.Record) error { return nil }

// claimsReplay reports whether a record claims to be a replay. Other control headers claim nothing: outputs of another
// pipeline have them too, and they are dropped.
func claimsReplay(c *header.Control) bool {
	return c.DeadLetterID != "" || c.ReplayID != "" || c.ForceVersion
}

// precedes reports whether a claimed first position is possible for a record at a position of the source topic. Offsets
// of different partitions do not compare, so a key's records must stay in its partition; without a key nothing is
// ordered. Everything in a topic before it was re-created precedes everything in it now.
func precedes(claimed, at header.Position, keyed, recreated bool) bool {
	switch {
	case claimed.Topic != at.Topic:
		return false
	case recreated:
		return true
	case claimed.Partition != at.Partition:
		return !keyed
	}
	return claimed.Offset < at.Offset
}

// Believed keeps the replay headers of a record that the replayer reinjected into the source topic, if they are
// proven. It drops every other control header there, and the record counts as new. A record whose claimed position
// cannot be its first one (the topic was mirrored) also counts as new, but still finishes its dead letter. Another
// pipeline's dead letter is not finished. A replay that may overwrite newer data is ordered by its position in the
// source, which therefore stays with it in the tiers. today is the current generation of the source topic.
func Believed(c header.Control, raw *kgo.Record, today int, proven func(*kgo.Record) error) (kept header.Control, doubt *DoubtError) {
	kept = header.Control{Lineage: c.Lineage, Care: c.Care, Sovereignty: c.Sovereignty}
	at := header.Position{Topic: raw.Topic, Partition: raw.Partition, Offset: raw.Offset}
	if !claimsReplay(&c) {
		return kept, nil
	}
	if c.HasSource && c.Source.Topic != at.Topic {
		return kept, &DoubtError{DoubtTopic, fmt.Sprintf("header %s is %s, of another topic", header.KeySource, &c.Source)}
	}
	if err := proven(raw); err != nil {
		if e, ok := errors.AsType[*DoubtError](err); ok {
			return kept, e
		}
		return kept, &DoubtError{DoubtInvalid, err.Error()}
	}
	if c.DeadLetterID == "" {
		return kept, nil
	}
	kept.DeadLetterID, kept.ReplayID, kept.ReplayCount, kept.ContentHash = c.DeadLetterID, c.ReplayID, c.ReplayCount, c.ContentHash
	if c.ReplayID != "" && c.ForceVersion {
		kept.ForceVersion, kept.ReplaySource, kept.ReplayGeneration = true, at, today
	}
	if c.HasSource && !precedes(c.Source, at, raw.Key != nil, c.Generation < today) {
		return kept, &DoubtError{DoubtPosition, fmt.Sprintf("header %s is %s, which does not lie before the record", header.KeySource, &c.Source)}
	}
	kept.Source, kept.HasSource, kept.Generation, kept.SourceTimestamp = c.Source, c.HasSource, c.Generation, c.SourceTimestamp
	kept.Part, kept.PartVersion, kept.Remaining = c.Part, c.PartVersion, c.Remaining
	return kept, nil
}
