package idempotency

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash/maphash"
	"math"
	"time"
	"unsafe"
)

// Applied is the last effective event of a key.
type Applied struct {
	Content [8]byte   // first bytes of the content's SHA-256, see [ContentOf]
	Version int64     // the event's version; 0 where versions are source offsets
	Offset  int64     // source offset of its first appearance
	At      time.Time // when it took effect, in whole seconds (a fraction is cut off), 1970 to 2106
}

// KeyHash identifies a key: the first 12 bytes of its SHA-256. Among ten
// million keys, two share a KeyHash with a probability below 10^-15.
type KeyHash [12]byte

// HashKey returns the KeyHash of a record's key.
func HashKey(key []byte) KeyHash {
	sum := sha256.Sum256(key)
	return KeyHash(sum[:len(KeyHash{})])
}

// IsZero reports whether k was never set.
func (k KeyHash) IsZero() bool { return k == KeyHash{} }

// Compare orders KeyHashes by their bytes.
func (k KeyHash) Compare(other KeyHash) int { return bytes.Compare(k[:], other[:]) }

// MarshalText returns 24 lower-case hexadecimal digits.
func (k KeyHash) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, k[:]), nil }

// UnmarshalText reads what [KeyHash.MarshalText] wrote.
func (k *KeyHash) UnmarshalText(text []byte) error {
	if len(text) != hex.EncodedLen(len(k)) {
		return fmt.Errorf("key hash: %d characters, want %d hexadecimal digits", len(text), hex.EncodedLen(len(k)))
	}
	var read KeyHash
	if _, err := hex.Decode(read[:], text); err != nil {
		return fmt.Errorf("key hash: %w", err)
	}
	*k = read
	return nil
}

// ContentOf returns the first 8 bytes of a content hash in its text form (see [Hash.String]). ok is false for any other
// text. It only allocates for a malformed text of the right length.
//
// Eight bytes are compared only with those of the same key. The probability that two contents of one key are taken for
// equal is 2^-64.
func ContentOf(hash string) (content [8]byte, ok bool) {
	if len(hash) != len(prefix)+2*len(Hash{}) {
		return content, false
	}
	h, err := Parse(hash)
	if err != nil {
		return content, false
	}
	return [8]byte(h[:]), true
}

// sweepSteps is how many expired keys one call removes at most from the old end: two, because a call adds at most one,
// so that the table shrinks while it is used.
const sweepSteps = 2

// Ledger remembers the last effective event of each key (S2-4), within a window of time and up to a number of keys.
// From 10,000 keys on, a key takes at most 64 bytes at every size, while the ledger grows and while it shrinks.
//
// A Ledger has no clock and no goroutine: its time is the latest now given to [Ledger.Last] or [Ledger.Restore]. A
// key that has left the window is absent immediately; the next calls free its memory, a few keys each. No call does
// work proportional to the number of keys.
//
// A Ledger is not safe for concurrent use, not even Last, which also frees memory. [NewLedger] creates one.
type Ledger struct {
	seed    maphash.Seed // random, so that nobody can guess the table's order and attack it
	window  time.Duration
	maxKeys int
	entries entries
	newest  uint32 // the keys in the order of their last Note, as a doubly linked list
	oldest  uint32
	cutoff  int64 // Unix second: events that took effect before it are older than the window
	hand    int   // the next place where sweep looks for expired keys out of order
}

// NewLedger returns an empty ledger. Events older than the window are absent; a window of zero or less sets no age
// limit. It keeps at most maxKeys keys, those with the latest [Ledger.Note]: exactly, a new key replaces the one
// whose last Note is the oldest. Zero or less sets no limit but the table's own, 2^32-2 keys (2^31-1 where an int has
// 32 bits).
func NewLedger(window time.Duration, maxKeys int) *Ledger {
	if maxKeys <= 0 || maxKeys > maxPlaces {
		maxKeys = maxPlaces
	}
	return &Ledger{
		seed: maphash.MakeSeed(), window: window, maxKeys: maxKeys,
		newest: none, oldest: none, cutoff: math.MinInt64,
	}
}

// Last returns the last effective event of the key. It returns false if the key is unknown or its entry is older than
// the window: a.At is before now minus the window. An At after now is within the window, so that small clock
// differences between owners of a partition lose nothing.
func (l *Ledger) Last(k KeyHash, now time.Time) (Applied, bool) {
	l.cutoff = l.cutoffAt(now)
	l.sweep()
	at := l.find(&k)
	if at == none {
		return Applied{}, false
	}
	e := l.entries.at(at)
	if int64(e.at) < l.cutoff {
		return Applied{}, false
	}
	return Applied{Content: e.content, Version: e.version, Offset: e.offset, At: time.Unix(int64(e.at), 0).UTC()}, true
}

// Note records that a took effect for the key. It replaces the previous entry, whether that was older or newer: the
// caller decides which of two events is newer. If the ledger is full, it removes the key with the oldest last Note,
// returns it as pushedOut, and full is true.
func (l *Ledger) Note(k KeyHash, a Applied) (pushedOut KeyHash, full bool) {
	l.sweep()
	at := l.find(&k)
	known := at != none
	switch {
	case known:
		l.unlink(at)
	case l.entries.n >= l.maxKeys:
		at = l.oldest
		pushedOut, full = l.entries.at(at).key, true
		l.erase(at)
		l.unlink(at)
	default:
		at = l.entries.push()
		l.split()
	}
	e := l.entries.at(at)
	e.key, e.content, e.version, e.offset, e.at = k, a.Content, a.Version, a.Offset, seconds(a.At)
	l.link(at, e)
	if !known {
		l.insert(at)
	}
	return pushedOut, full
}

// Forget removes the key, for a caller who reverts a Note.
func (l *Ledger) Forget(k KeyHash) {
	if at := l.find(&k); at != none {
		l.remove(at)
	}
}

// Len returns the number of keys in memory, including those that have left the window and are not removed yet.
func (l *Ledger) Len() int { return l.entries.n }

// Bytes returns the memory of the ledger, in bytes.
func (l *Ledger) Bytes() int {
	return int(unsafe.Sizeof(*l)) + l.entries.bytes()
}

// cutoffAt returns the first Unix second that is still within the window.
func (l *Ledger) cutoffAt(now time.Time) int64 {
	if l.window <= 0 {
		return math.MinInt64
	}
	begin := now.Add(-l.window)
	if begin.Nanosecond() > 0 {
		return begin.Unix() + 1
	}
	return begin.Unix()
}

// seconds returns the time in the form of the table and the packed records. A time out of their range becomes the
// nearest end of the range.
func seconds(at time.Time) uint32 {
	return uint32(min(max(at.Unix(), 0), math.MaxUint32)) //nolint:gosec // bounded in this line
}

func (l *Ledger) hash(k *KeyHash) uint64 { return maphash.Bytes(l.seed, k[:]) }
