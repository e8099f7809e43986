package retrytopics

import (
	"testing"
	"time"

	"github.com/switchback-geo/switchback/pkg/idempotency"
)

// After an aborted transaction, attempts that still run on the dropped lanes must leave no trace where the same records
// are attempted again: a record would be closed as its own duplicate.
func TestShardSuccessorHearsNothingOfAttemptsBefore(t *testing.T) {
	old := newShard(0, Dedupe{Window: time.Hour, MaxKeys: 10})
	old.base["waits"] = keyState{Next: 1, Last: 2}
	old.rollback()
	next := old.successor()
	hash := idempotency.HashKey([]byte("k"))
	old.mu.Lock()
	old.keys["k"] = keyState{Letters: 1}
	old.unledged[hash] = idempotency.Applied{Offset: 7}
	old.mu.Unlock()
	if len(next.unledged) != 0 || next.keys["k"] != (keyState{}) {
		t.Errorf("the successor knows %v and %v", next.unledged, next.keys["k"])
	}
	if next.keys["waits"].Last != 2 || next.ledger != old.ledger {
		t.Error("the successor has lost what is committed")
	}
}
