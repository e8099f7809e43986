package retrytopics

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics/statetopic"
)

const (
	// maxPushed bounds the keys that wait for removal from the state topic, 12 bytes each. Further keys stay there until
	// the next start evicts them again.
	maxPushed = 1 << 20
	// maxRemoved is how many of them one transaction removes.
	maxRemoved = 1000
)

// pushedOut holds the keys of a partition whose versions had no room in memory. They are removed from the state topic
// too; otherwise it, and the time of a start, would grow without bound. With KeepWindow these are all versions of an
// earlier setting.
type pushedOut struct {
	keys      []idempotency.KeyHash
	forgotten *forgotten // counts them; nil if versions are dropped on purpose
	// early has the keys evicted during a start. A later record may bring such a key back, or may already remove it.
	early map[idempotency.KeyHash]struct{}
}

// add adds an evicted key; full is false if none was.
func (p *pushedOut) add(k idempotency.KeyHash, full bool) {
	if !full {
		return
	}
	p.forgotten.add()
	if len(p.keys) < maxPushed {
		p.keys = append(p.keys, k)
	}
}

// addEarly adds a key that is evicted while the topic is read.
func (p *pushedOut) addEarly(k idempotency.KeyHash, full bool) {
	switch {
	case !full:
	case len(p.early) >= maxPushed:
		p.forgotten.add()
	case p.early == nil:
		p.early = map[idempotency.KeyHash]struct{}{k: {}}
	default:
		p.early[k] = struct{}{}
	}
}

// begin adds the remaining early keys.
func (p *pushedOut) begin() {
	for k := range p.early {
		p.add(k, true)
	}
	p.early = nil
}

// removable returns some of the keys without room, and how many of the queue they stand for: keys that have come back
// since are skipped.
func (sh *partitionState) removable() (keys []idempotency.KeyHash, of int) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	of = min(len(sh.pushed.keys), maxRemoved)
	for _, k := range sh.pushed.keys[:of] {
		if sh.latest == nil {
			keys = append(keys, k)
		} else if _, back := sh.latest.of(k); !back {
			keys = append(keys, k)
		}
	}
	return keys, of
}

// removed drops the first n keys of the queue.
func (sh *partitionState) removed(n int) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	sh.pushed.keys = slices.Delete(sh.pushed.keys, 0, min(n, len(sh.pushed.keys)))
}

// versionRecords returns the records of the versions that a transaction changes, the last one of each key.
func (e *Engine) versionRecords(sh *partitionState, changes []*change) []*kgo.Record {
	if sh.latest == nil {
		return nil
	}
	topic, scale := e.cfg.Ordering.StateTopic, e.cfg.scale()
	var records []*kgo.Record
	last := make(map[idempotency.KeyHash]*change, len(changes))
	for _, c := range changes {
		if c.versioned {
			last[c.hash] = c
		}
	}
	for _, c := range changes { // in their order: a start evicts by it
		if last[c.hash] == c {
			records = append(records, statetopic.EncodeVersion(topic, sh.partition, c.hash, &c.latest, scale))
		}
	}
	return records
}

// removals returns the tombstones of evicted versions. They follow the version records, because one of these may have
// been evicted by another one of the same transaction.
func (e *Engine) removals(st *staged, sh *partitionState) []*kgo.Record {
	gone, of := sh.removable()
	records := make([]*kgo.Record, 0, len(gone))
	for _, k := range gone {
		records = append(records, statetopic.EncodeVersion(e.cfg.Ordering.StateTopic, sh.partition, k, nil, ""))
	}
	st.pushed[sh] = of
	return records
}

// forgottenPause is the shortest time between two log lines about forgotten versions.
const forgottenPause = time.Minute

// forgotten counts the evicted versions, over all partitions and sessions. Its mutex guards all fields and is held for a
// moment only.
type forgotten struct {
	mu       sync.Mutex
	count    int64
	said     int64 // already logged
	saidLast time.Time
}

func (f *forgotten) add() {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.count++
}

func (f *forgotten) total() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.count
}

// say logs what is not logged yet, unless it logged within forgottenPause.
func (f *forgotten) say(log *slog.Logger, maxKeys int, now time.Time) {
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
	log.WarnContext(context.Background(), "versions are forgotten: a partition has more keys than are remembered; an older version of a key that was forgotten can take effect",
		"keys", more, "max_keys", maxKeys)
}

// VersionStats is what this instance remembers of the newest versions of keys, see Versions.
type VersionStats struct {
	Keys      int64 // with KeepWindow, those still to be removed
	Bytes     int64 // in memory
	Forgotten int64 // keys without room since the engine was made
}

// addVersions counts what the partitions remember. The session's mutex is held.
func (s *session) addVersions(stats *VersionStats) {
	for _, sh := range s.states {
		if !sh.restored {
			continue
		}
		sh.mu.Lock()
		if sh.latest == nil {
			stats.Keys += int64(len(sh.pushed.keys))
		} else {
			stats.Keys += int64(sh.latest.table.Len())
			stats.Bytes += int64(sh.latest.table.Bytes())
		}
		sh.mu.Unlock()
	}
}
