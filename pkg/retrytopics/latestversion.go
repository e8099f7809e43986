package retrytopics

import (
	"encoding/binary"
	"math"
	"time"

	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// Latest is what is remembered of the effective events of a key.
type Latest struct {
	Version header.Version // of the newest event
	Deleted int64          // source offset after the newest delete; 0 if there was none
}

// Outdates reports whether an event of a version is older than what took effect. A delete is newer than every earlier
// event of its key, even one with a greater number.
func (n Latest) Outdates(v header.Version) bool { return v.Less(n.Version) || v.Offset < n.Deleted }

// After returns what is remembered once an event of a version took effect. It never becomes older.
func (n Latest) After(v header.Version, deletes bool) Latest {
	if n.Version.Less(v) {
		n.Version = v
	}
	if deletes {
		n.Deleted = max(n.Deleted, v.Offset+1)
	}
	return n
}

// Join combines what two places remember of a key.
func (n Latest) Join(m Latest) Latest {
	if n.Version.Less(m.Version) {
		n.Version = m.Version
	}
	n.Deleted = max(n.Deleted, m.Deleted)
	return n
}

// On converts to another scale. Numbers of two scales do not compare: everything in the source up to the newest event
// counts as older, and everything after it as newer.
func (n Latest) On(from, to Scale) Latest {
	if !from.differs(to) {
		return n
	}
	return Latest{header.Version{Number: math.MinInt64, Offset: n.Version.Offset}, max(n.Deleted, n.Version.Offset+1)}
}

// latestVersions holds the newest version of each key of a partition, in 48 bytes and a share of a hash table, whatever
// the key's length.
type latestVersions struct{ table *idempotency.Ledger }

func newLatestVersions(maxKeys int) *latestVersions {
	return &latestVersions{idempotency.NewLedger(0, maxKeys)}
}

// of returns what is remembered of a key.
func (n *latestVersions) of(k idempotency.KeyHash) (known Latest, ok bool) {
	a, ok := n.table.Last(k, time.Time{})
	if !ok {
		return Latest{}, false
	}
	return Latest{header.Version{Number: a.Version, Offset: a.Offset}, int64(binary.BigEndian.Uint64(a.Content[:]))}, true //nolint:gosec // as it was put in
}

// size returns the number of keys; 0 if versions are not kept.
func (n *latestVersions) size() int {
	if n == nil {
		return 0
	}
	return n.table.Len()
}

// note remembers it. Without room it evicts the key that was noted longest ago.
func (n *latestVersions) note(k idempotency.KeyHash, known Latest) (pushed idempotency.KeyHash, full bool) {
	a := idempotency.Applied{Version: known.Version.Number, Offset: known.Version.Offset}
	binary.BigEndian.PutUint64(a.Content[:], uint64(known.Deleted)) //nolint:gosec // an offset
	return n.table.Note(k, a)
}
