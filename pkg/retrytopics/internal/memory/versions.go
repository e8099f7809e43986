package memory

import (
	"context"
	"encoding/binary"
	"log/slog"
	"sync"
	"time"

	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/statetopic"
)

// versions holds the newest version of each key of a partition, in 48 bytes and its share of a hash table, whatever
// the key's length.
type versions struct{ table *idempotency.Ledger }

func newVersions(maxKeys int) *versions { return &versions{idempotency.NewLedger(0, maxKeys)} }

// of returns what is remembered of a key.
func (n *versions) of(k idempotency.KeyHash) (known statetopic.Latest, ok bool) {
	a, ok := n.table.Last(k, time.Time{})
	if !ok {
		return statetopic.Latest{}, false
	}
	return statetopic.Latest{Version: header.Version{Number: a.Version, Offset: a.Offset}, Deleted: int64(binary.BigEndian.Uint64(a.Content[:]))}, true //nolint:gosec // as it was put in
}

// note stores it. Without room it evicts the key that was noted longest ago.
func (n *versions) note(k idempotency.KeyHash, known statetopic.Latest) (evicted idempotency.KeyHash, full bool) {
	a := idempotency.Applied{Version: known.Version.Number, Offset: known.Version.Offset}
	binary.BigEndian.PutUint64(a.Content[:], uint64(known.Deleted)) //nolint:gosec // an offset
	return n.table.Note(k, a)
}

const (
	// maxEvicted bounds the keys that wait for removal from the state topic, 12 bytes each. Further keys stay there until
	// the next start evicts them again.
	maxEvicted = 1 << 20
	// maxRemoved is how many of them one transaction removes.
	maxRemoved = 1000
)

// evicted holds the keys of a partition whose versions had no room in memory. They are removed from the state topic too;
// otherwise it, and the time of a start, would grow without bound. With Settings.DropVersions these are all versions of
// an earlier setting.
type evicted struct {
	keys      []idempotency.KeyHash
	forgotten *Forgotten // counts them; nil if versions are dropped on purpose
	// early has the keys evicted during a start. A later record may bring such a key back, or may already remove it.
	early map[idempotency.KeyHash]struct{}
}

// add adds an evicted key; full is false if none was.
func (e *evicted) add(k idempotency.KeyHash, full bool) {
	if !full {
		return
	}
	e.forgotten.add()
	if len(e.keys) < maxEvicted {
		e.keys = append(e.keys, k)
	}
}

// addEarly adds a key that is evicted while the topic is read.
func (e *evicted) addEarly(k idempotency.KeyHash, full bool) {
	switch {
	case !full:
	case len(e.early) >= maxEvicted:
		e.forgotten.add()
	case e.early == nil:
		e.early = map[idempotency.KeyHash]struct{}{k: {}}
	default:
		e.early[k] = struct{}{}
	}
}

// begin adds the remaining early keys.
func (e *evicted) begin() {
	for k := range e.early {
		e.add(k, true)
	}
	e.early = nil
}

// forgottenPause is the shortest time between two log lines about forgotten versions.
const forgottenPause = time.Minute

// Forgotten counts the evicted versions, over all partitions and sessions. Safe for concurrent use.
type Forgotten struct {
	mu       sync.Mutex // guards all fields; held for a moment only
	count    int64
	said     int64 // already logged
	saidLast time.Time
}

func (f *Forgotten) add() {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.count++
}

// Total returns the count.
func (f *Forgotten) Total() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.count
}

// Say logs the count that is not logged yet, unless it logged within forgottenPause.
func (f *Forgotten) Say(log *slog.Logger, maxKeys int, now time.Time) {
	f.mu.Lock()
	more := f.count - f.said
	quiet := more == 0 || !f.saidLast.IsZero() && now.Sub(f.saidLast) < forgottenPause
	if !quiet {
		f.said, f.saidLast = f.count, now
	}
	f.mu.Unlock()
	if quiet {
		return
	}
	log.WarnContext(context.Background(), "versions are forgotten: a partition has more keys than the version memory can hold; an older version of a forgotten key can take effect",
		"keys", more, "max_keys", maxKeys)
}
