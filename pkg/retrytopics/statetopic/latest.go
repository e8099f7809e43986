package statetopic

import (
	"math"

	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// Latest summarizes the effective events of a key.
type Latest struct {
	Version header.Version // of the newest event
	Deleted int64          // source offset after the newest delete; 0 if there was none
}

// Outdates reports whether an event of a version is older than what took effect. A delete is newer than every earlier
// event of its key, even one with a greater number.
func (n Latest) Outdates(v header.Version) bool { return v.Less(n.Version) || v.Offset < n.Deleted }

// After returns the summary after an event of a version took effect. It never becomes older.
func (n Latest) After(v header.Version, deletes bool) Latest {
	if n.Version.Less(v) {
		n.Version = v
	}
	if deletes {
		n.Deleted = max(n.Deleted, v.Offset+1)
	}
	return n
}

// Join combines the summaries of a key from two places.
func (n Latest) Join(m Latest) Latest {
	if n.Version.Less(m.Version) {
		n.Version = m.Version
	}
	n.Deleted = max(n.Deleted, m.Deleted)
	return n
}

// On converts the summary to another scale. Numbers of two scales do not compare: everything in the source up to the
// newest event counts as older, and everything after it as newer.
func (n Latest) On(from, to Scale) Latest {
	if !from.Differs(to) {
		return n
	}
	return Latest{header.Version{Number: math.MinInt64, Offset: n.Version.Offset}, max(n.Deleted, n.Version.Offset+1)}
}
