package retrytopics

import (
	"cmp"
	"errors"
	"time"
)

// Dedupe sets how long the engine remembers the last effective event of each key. An event with an equal content hash is
// closed as a duplicate; A → B → A is three changes. The newest version is remembered separately (Ordering.Versions).
// The handler must set Result.ContentHash. The zero value turns deduplication off.
type Dedupe struct {
	Window  time.Duration // 0: off
	MaxKeys int           // per partition; beyond it the oldest are forgotten. Defaults to 10 million.
	// LedgerTopic has as many partitions as the source and keeps its records for Window. Defaults to <Source>.ledger.
	LedgerTopic string
}

// On reports whether events are deduplicated.
func (d Dedupe) On() bool { return d.Window > 0 }

func (d Dedupe) withDefaults(source string) Dedupe {
	d.MaxKeys = cmp.Or(d.MaxKeys, 10_000_000)
	d.LedgerTopic = cmp.Or(d.LedgerTopic, source+".ledger")
	return d
}

func (d Dedupe) faults() []error {
	if d.Window < 0 || d.MaxKeys < 1 {
		return []error{errors.New("Dedupe.Window and Dedupe.MaxKeys must not be negative")}
	}
	return nil
}
