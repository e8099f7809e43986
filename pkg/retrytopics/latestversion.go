package retrytopics

import (
	"encoding/binary"
	"time"

	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/statetopic"
)

// latestVersions holds the newest version of each key of a partition, in 48 bytes and a share of a hash table, whatever
// the key's length.
type latestVersions struct{ table *idempotency.Ledger }

func newLatestVersions(maxKeys int) *latestVersions {
	return &latestVersions{idempotency.NewLedger(0, maxKeys)}
}

// of returns what is remembered of a key.
func (n *latestVersions) of(k idempotency.KeyHash) (known statetopic.Latest, ok bool) {
	a, ok := n.table.Last(k, time.Time{})
	if !ok {
		return statetopic.Latest{}, false
	}
	return statetopic.Latest{Version: header.Version{Number: a.Version, Offset: a.Offset}, Deleted: int64(binary.BigEndian.Uint64(a.Content[:]))}, true //nolint:gosec // as it was put in
}

// size returns the number of keys; 0 if versions are not kept.
func (n *latestVersions) size() int {
	if n == nil {
		return 0
	}
	return n.table.Len()
}

// note remembers it. Without room it evicts the key that was noted longest ago.
func (n *latestVersions) note(k idempotency.KeyHash, known statetopic.Latest) (pushed idempotency.KeyHash, full bool) {
	a := idempotency.Applied{Version: known.Version.Number, Offset: known.Version.Offset}
	binary.BigEndian.PutUint64(a.Content[:], uint64(known.Deleted)) //nolint:gosec // an offset
	return n.table.Note(k, a)
}
