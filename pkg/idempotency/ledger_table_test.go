package idempotency

import (
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// checkLedger proves that list, table and entries tell of the same keys.
func checkLedger(t *testing.T, l *Ledger) {
	t.Helper()
	before, count := uint32(none), 0
	for at := l.oldest; at != none; at = l.entries.at(at).newer {
		e := l.entries.at(at)
		must.That(t, e.older == before, "entry %d: the older one is %d, want %d", at, e.older, before)
		must.Equal(t, l.table.find(l.hash(&e.key), &e.key, &l.entries), at, "entry")
		if count++; count > l.Len() {
			t.Fatalf("the list is longer than %d keys", l.Len())
		}
		before = at
	}
	must.That(t, before == l.newest && count == l.Len(), "the list ends at %d of %d after %d of %d keys", before, l.newest, count, l.Len())
	checkTable(t, l)
}

// checkTable proves that every figure of the table is what a count gives.
func checkTable(t *testing.T, l *Ledger) {
	t.Helper()
	d := &l.table
	must.That(t, len(d.directory) == 1<<d.depth, "%d places in a directory of depth %d", len(d.directory), d.depth)
	segments, deepest, keys := 0, 0, 0
	for i := 0; i < len(d.directory); {
		s := d.directory[i]
		length := 1 << (d.depth - s.depth)
		must.That(t, i%length == 0, "a segment of depth %d begins at %d", s.depth, i)
		for j := i; j < i+length; j++ {
			must.That(t, d.directory[j] == s, "place %d holds another segment than place %d", j, i)
		}
		if s.depth == d.depth {
			deepest++
		}
		segments, keys, i = segments+1, keys+checkSegment(t, l, s), i+length
	}
	must.That(t, segments == d.segments && deepest == d.deepest && keys == l.Len(),
		"segments %d, deepest %d, keys %d; counted %d, %d, %d", d.segments, d.deepest, l.Len(), segments, deepest, keys)
}

func checkSegment(t *testing.T, l *Ledger, s *segment) (keys int) {
	t.Helper()
	var over [segmentBuckets]uint16
	for b := range s.buckets {
		for i, tag := range s.buckets[b].tags {
			if tag == 0 {
				continue
			}
			keys++
			for home := bucketOf(l.hashAt(s.buckets[b].places[i])); home != b; home = nextBucket(home) {
				over[home]++
			}
		}
	}
	for b := range s.buckets {
		if s.buckets[b].over != over[b] {
			t.Fatalf("bucket %d counts %d keys that went past it, there are %d", b, s.buckets[b].over, over[b])
		}
	}
	must.That(t, keys == int(s.used) && keys <= splitAt, "a segment counts %d keys and holds %d, at most %d", s.used, keys, splitAt)
	return keys
}

// bytesPerKey fails when the ledger is larger than it may be at its size.
func bytesPerKey(t *testing.T, l *Ledger) float64 {
	t.Helper()
	per := float64(l.Bytes()) / float64(l.Len())
	must.That(t, l.Len() < 10_000 || per <= 64, "%.2f bytes per key at %d keys", per, l.Len())
	return per
}

// Every size on the way up and down is looked at, not a chosen few.
func TestLedger_64_bytes_per_key_at_every_size(t *testing.T) {
	const keys = 300_000
	l := NewLedger(time.Hour, 0)
	worstUp, worstDown := 0.0, 0.0
	for i := range keys {
		l.Note(keyOf(i), appliedAt(i, start))
		if l.Len() >= 10_000 {
			worstUp = max(worstUp, bytesPerKey(t, l))
		}
	}
	checkLedger(t, l)
	later := start.Add(2 * time.Hour)
	for l.Len() > 10_000 {
		l.Last(keyOf(0), later)
		worstDown = max(worstDown, bytesPerKey(t, l))
	}
	checkLedger(t, l)
	for i := range keys / 2 { // the freed memory is used again
		l.Note(keyOf(-i), appliedAt(i, later))
		bytesPerKey(t, l)
	}
	checkLedger(t, l)
	for l.Len() > 0 {
		l.Last(keyOf(0), later.Add(2*time.Hour))
	}
	checkLedger(t, l)
	expect.That(t, l.Bytes() <= 64*1024, "an empty ledger holds %d bytes", l.Bytes())
	t.Logf("worst bytes per key: %.2f growing, %.2f shrinking", worstUp, worstDown)
}
