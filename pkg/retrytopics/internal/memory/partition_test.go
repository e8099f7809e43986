package memory

import (
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/keyorder"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/pkg/idempotency"
)

// withLedger returns an open memory with a ledger.
func withLedger() *Partition {
	p := New(0, Settings{Window: time.Hour, MaxKeys: 10})
	p.base["waits"] = keyorder.State{Next: 1, Last: 2}
	p.Open()
	return p
}

// After an aborted transaction, attempts that still run on the dropped partitions must leave no trace where the same
// records are attempted again. Otherwise a record would be closed as its own duplicate.
func TestSuccessor_ignoresAttemptsOfItsPredecessor(t *testing.T) {
	t.Parallel()
	old := withLedger()
	next := old.Successor()
	hash := idempotency.HashKey([]byte("k"))
	before := old.Past([]byte("k"), hash, time.Now())
	c := &Change{Hash: hash}
	old.Apply(c, []byte("k"), &before, Effect{Took: true, LateDelete: -1, Hashed: true, At: time.Now(), Order: keyorder.State{DeadLetters: 1}, Ordered: true})
	p := next.Past([]byte("k"), hash, time.Now())
	expect.That(t, !p.known && p.Order == (keyorder.State{}), "the successor knows %+v", p)
	expect.That(t, next.keys["waits"].Last == 2 && next.ledger == old.ledger, "the successor has lost what is committed")
}

// The ledger returns to what is committed: the changes of repeated attempts are undone.
func TestSuccessor_S3_1_knowsWhatIsCommitted(t *testing.T) {
	t.Parallel()
	now := time.Now()
	m := withLedger()
	offset := int64(0)
	apply := func(key string) *Change {
		c := &Change{Hash: idempotency.HashKey([]byte(key))}
		before := m.Past([]byte(key), c.Hash, now)
		effect := Effect{Took: true, LateDelete: -1, Hashed: true, At: now}
		effect.Version.Offset = offset
		offset++
		m.Apply(c, []byte(key), &before, effect)
		return c
	}
	running := apply("running") // not in the transaction that is committed
	committed := []*Change{apply("once"), apply("again")}
	m.Commit(committed)
	apply("again")
	apply("again")
	apply("new")
	next := m.Successor()
	want := map[string]int64{"once": 1, "again": 2, "new": -1, "running": -1}
	for key, at := range want {
		got := int64(-1)
		if p := next.Past([]byte(key), idempotency.HashKey([]byte(key)), now); p.known {
			got = p.last.Offset
		}
		expect.That(t, got == at, "key %s: last is of offset %d, want %d", key, got, at)
	}
	next.Commit([]*Change{running}) // of a dropped memory; it must have no effect
	expect.That(t, len(next.noted) == 0 && next.ledger.Len() == 2, "%d changes are open, the ledger has %d keys", len(next.noted), next.ledger.Len())
}
