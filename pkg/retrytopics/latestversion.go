package retrytopics

import (
	"encoding/binary"
	"math"
	"time"

	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// Latest is what is remembered of the events of a key that took effect.
type Latest struct {
	Version header.Version // of the newest one
	Deleted int64          // source offset behind the newest delete among them; 0 when there is none
}

// Outdates says whether an event of a version is older than what took effect. A delete is newer than every event of its key
// before it, also than those with a greater number.
func (n Latest) Outdates(v header.Version) bool { return v.Less(n.Version) || v.Offset < n.Deleted }

// After is what is remembered once an event of a version took effect. It never becomes older.
func (n Latest) After(v header.Version, deletes bool) Latest {
	if n.Version.Less(v) {
		n.Version = v
	}
	if deletes {
		n.Deleted = max(n.Deleted, v.Offset+1)
	}
	return n
}

// Join is what is remembered of a key that is known from two places.
func (n Latest) Join(m Latest) Latest {
	if n.Version.Less(m.Version) {
		n.Version = m.Version
	}
	n.Deleted = max(n.Deleted, m.Deleted)
	return n
}

// On is what is remembered under another scale. Numbers do not compare then; what is certain is that all that lay in the source
// up to the newest event is not newer than it, and all behind it is.
func (n Latest) On(from, to Scale) Latest {
	if !from.differs(to) {
		return n
	}
	return Latest{header.Version{Number: math.MinInt64, Offset: n.Version.Offset}, max(n.Deleted, n.Version.Offset+1)}
}

// latestVersions holds the newest version of each key of a partition: 48 bytes and its part of a hash table, whatever the key.
type latestVersions struct{ table *idempotency.Ledger }

func newLatestVersions(maxKeys int) *latestVersions {
	return &latestVersions{idempotency.NewLedger(0, maxKeys)}
}

// of gives what is known of a key.
func (n *latestVersions) of(k idempotency.KeyHash) (known Latest, ok bool) {
	a, ok := n.table.Last(k, time.Time{})
	if !ok {
		return Latest{}, false
	}
	return Latest{header.Version{Number: a.Version, Offset: a.Offset}, int64(binary.BigEndian.Uint64(a.Content[:]))}, true //nolint:gosec // as it was put in
}

// size is the number of keys; none are known where none is kept.
func (n *latestVersions) size() int {
	if n == nil {
		return 0
	}
	return n.table.Len()
}

// note remembers it. When there is no room, the key that was noted longest ago is pushed out.
func (n *latestVersions) note(k idempotency.KeyHash, known Latest) (pushed idempotency.KeyHash, full bool) {
	a := idempotency.Applied{Version: known.Version.Number, Offset: known.Version.Offset}
	binary.BigEndian.PutUint64(a.Content[:], uint64(known.Deleted)) //nolint:gosec // an offset
	return n.table.Note(k, a)
}
