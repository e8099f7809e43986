package sink

import (
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// Difference is how the table differs from the output topic for one key. It is a closed list (see [Differences]).
type Difference string

// The differences.
const (
	DifferenceMissing Difference = "missing" // the topic has the feature, the table has no row or no guard for it
	DifferenceStale   Difference = "stale"   // the row is an older event's
	DifferenceExtra   Difference = "extra"   // the topic deleted the row, or the pipeline never wrote it
	DifferenceChanged Difference = "changed" // the row is the right event's, with other values
	DifferenceAhead   Difference = "ahead"   // the table has a newer event, which is on its way to the topic or was never delivered
	DifferenceUnknown Difference = "unknown" // the guard has the row, and the topic no longer has a record of it
)

// Differences lists every difference, the violations first.
func Differences() []Difference {
	return []Difference{DifferenceMissing, DifferenceStale, DifferenceExtra, DifferenceChanged, DifferenceAhead, DifferenceUnknown}
}

// Violates reports whether the table is wrong. A row that is ahead may be right, and an unknown one cannot be compared.
func (d Difference) Violates() bool { return d != DifferenceAhead && d != DifferenceUnknown }

// topicState is the state of a key in the output topic, from its newest record.
type topicState struct {
	deletes bool
	loose   bool // an older version may follow a newer one; the table keeps the newer one
	source  header.Position
	place   int64 // the offset by which the guard orders the event
}

// differenceOf compares the table's facts with the topic's state; "" means that the row is right. The pipeline writes
// the table before the topic, so a table behind the topic is wrong.
func differenceOf(s topicState, f Fact) Difference {
	has := func(d Difference) Difference {
		if f.There {
			return d
		}
		return ""
	}
	if !f.Known {
		if s.deletes {
			return has(DifferenceExtra)
		}
		return DifferenceMissing
	}
	if f.Deleted == s.deletes && (s.deletes || f.Same || f.Source == s.source.String()) {
		switch {
		case s.deletes:
			return has(DifferenceExtra)
		case !f.There:
			return DifferenceMissing
		case f.Differs:
			return DifferenceChanged
		}
		return ""
	}
	if !behind(s, f) {
		return DifferenceAhead
	}
	switch {
	case s.deletes:
		return DifferenceExtra
	case f.Deleted:
		return DifferenceMissing
	}
	return DifferenceStale
}

// behind reports whether the table has an older event than the topic. Offsets of two partitions cannot be compared.
func behind(s topicState, f Fact) bool {
	at, err := header.ParsePosition(f.Source)
	return err == nil && !s.loose && at.Topic == s.source.Topic && at.Partition == s.source.Partition && f.Version.Offset < s.place
}
