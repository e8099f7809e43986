package sinkverify

import (
	"github.com/switchback-geo/switchback/internal/sink"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// Kind is what differs. It is a closed list (see [Kinds]).
type Kind string

// The kinds.
const (
	Missing Kind = "missing" // the topic has the feature, the table has no row or no guard for it
	Stale   Kind = "stale"   // the row is that of an older event
	Extra   Kind = "extra"   // a row that the topic deleted, or that nothing has written
	Changed Kind = "changed" // the row is that of the event, and says something else
	Ahead   Kind = "ahead"   // the table has something newer: on its way into the topic, or never delivered
	Unknown Kind = "unknown" // the guard has the row, and the topic no record of it any more
)

// Kinds lists every kind, those that are wrong first.
func Kinds() []Kind { return []Kind{Missing, Stale, Extra, Changed, Ahead, Unknown} }

// Violates says whether the table is wrong. What is ahead may be right, and what is unknown cannot be compared.
func (k Kind) Violates() bool { return k != Ahead && k != Unknown }

// said is what the output topic says of a key.
type said struct {
	deletes bool
	loose   bool // an older version may come behind a newer one; the table keeps that one
	source  retrytopics.Position
	place   int64 // by which the event is ordered, as the guard has it
}

// judge says what a fact means, beside what the topic said before it; "" for a row that is as it should be. A table that is behind the
// topic is wrong, since it is written first.
func judge(s said, f sink.Fact) Kind {
	has := func(kind Kind) Kind {
		if f.There {
			return kind
		}
		return ""
	}
	if !f.Known {
		if s.deletes {
			return has(Extra)
		}
		return Missing
	}
	if f.Deleted == s.deletes && (s.deletes || f.Same || f.Source == s.source.String()) {
		switch {
		case s.deletes:
			return has(Extra)
		case !f.There:
			return Missing
		case f.Differs:
			return Changed
		}
		return ""
	}
	if !behind(s, f) {
		return Ahead
	}
	switch {
	case s.deletes:
		return Extra
	case f.Deleted:
		return Missing
	}
	return Stale
}

// behind says whether the table has an older event than the topic. Offsets of two partitions say nothing.
func behind(s said, f sink.Fact) bool {
	at, err := retrytopics.ParsePosition(f.Source)
	return err == nil && !s.loose && at.Topic == s.source.Topic && at.Partition == s.source.Partition && f.Version.Offset < s.place
}
