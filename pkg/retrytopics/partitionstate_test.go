package retrytopics

import (
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/keyorder"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/pkg/idempotency"
)

// After an aborted transaction, attempts that still run on the dropped partitions must leave no trace where the same records
// are attempted again: a record would be closed as its own duplicate.
func TestShardSuccessorHearsNothingOfAttemptsBefore(t *testing.T) {
	t.Parallel()
	old := newPartitionState(0, Dedupe{Window: time.Hour, MaxKeys: 10})
	old.base["waits"] = keyorder.State{Next: 1, Last: 2}
	old.open()
	next := old.successor()
	hash := idempotency.HashKey([]byte("k"))
	old.set([]byte("k"), keyorder.State{DeadLetters: 1})
	old.note(&change{hash: hash, applied: idempotency.Applied{Offset: 7, At: time.Now()}})
	p := next.past([]byte("k"), hash, time.Now())
	expect.That(t, !p.known && p.state == (keyorder.State{}), "the successor knows %+v", p)
	expect.That(t, next.keys["waits"].Last == 2 && next.ledger == old.ledger, "the successor has lost what is committed")
}

// What attempts noted that are made again is taken out of the ledger, back to what is committed.
func TestShardSuccessorKnowsWhatIsCommitted_S3_1(t *testing.T) {
	t.Parallel()
	now := time.Now()
	changeOf := func(key string, offset int64, before past) *change {
		return &change{
			hash: idempotency.HashKey([]byte(key)), ledged: true, before: before.last, known: before.known,
			applied: idempotency.Applied{Offset: offset, At: now},
		}
	}
	sh := newPartitionState(0, Dedupe{Window: time.Hour, MaxKeys: 10})
	sh.open()
	offset := int64(0)
	apply := func(key string) *change {
		c := changeOf(key, offset, sh.past([]byte(key), idempotency.HashKey([]byte(key)), now))
		offset++
		sh.note(c)
		return c
	}
	running := apply("running") // is not in the transaction that is committed
	committed := []*change{apply("once"), apply("again")}
	sh.commit(committed)
	apply("again")
	apply("again")
	apply("new")
	next := sh.successor()
	want := map[string]int64{"once": 1, "again": 2, "new": -1, "running": -1}
	for key, at := range want {
		got := int64(-1)
		if p := next.past([]byte(key), idempotency.HashKey([]byte(key)), now); p.known {
			got = p.last.Offset
		}
		expect.That(t, got == at, "key %s: last is of offset %d, want %d", key, got, at)
	}
	next.commit([]*change{running}) // of a dropped state; it must not matter
	expect.That(t, len(next.noted) == 0 && next.ledger.Len() == 2, "%d changes are open, the ledger has %d keys", len(next.noted), next.ledger.Len())
}
