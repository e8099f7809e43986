package idempotency

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

// changesVersion is the first byte of a packed record. Its layout:
//
//	version  1 byte, 1
//	count    unsigned varint, the number of changes
//	change   count times:
//	  key      12 bytes
//	  content   8 bytes
//	  at       varint, Unix seconds 0 to 2^32-1, as a difference
//	  offset   varint, as a difference
//	  version  varint, as a difference
//
// A difference is that to the previous change, in 64 bits that wrap. The change before the first one is all zero. Varints
// are those of encoding/binary, signed ones in zigzag form, each in its shortest form. Therefore a list of changes has
// only one text.
const changesVersion = 1

// The sizes of one change in a packed record, in bytes. It usually takes 24 if the version is the source offset, and 28 if
// it is a time in nanoseconds.
const (
	minChangeSize = len(KeyHash{}) + len(Applied{}.Content) + 3
	// MaxChangeSize is the largest size of one change. The rest of a packed record is smaller, so any n changes fit into
	// (n+1)*MaxChangeSize bytes.
	MaxChangeSize = len(KeyHash{}) + len(Applied{}.Content) + 5 + 2*binary.MaxVarintLen64
)

var (
	// ErrNewerLedger is wrapped by the error for a packed record that a newer version of the software wrote. The record
	// is not broken: run that version.
	ErrNewerLedger = errors.New("ledger record of a newer format version")
	// ErrBrokenLedger is wrapped by the error for bytes that are not a packed record.
	ErrBrokenLedger = errors.New("broken ledger record")
)

// Change is one key's entry in a packed record: the event that took effect for it.
type Change struct {
	Key     KeyHash
	Applied Applied
}

// AppendChanges appends one packed record value to dst: the changes of one transaction, in their order. Neighbouring
// changes should have similar offsets, versions and times, as they have in the order in which they took effect. The
// caller bounds their number, see [MaxChangeSize].
func AppendChanges(dst []byte, changes []Change) []byte {
	dst = slices.Grow(dst, 2*minChangeSize+len(changes)*(minChangeSize+5))
	dst = append(dst, changesVersion)
	dst = binary.AppendUvarint(dst, uint64(len(changes)))
	var at, offset, version int64
	for i := range changes {
		a := &changes[i].Applied
		second := int64(seconds(a.At))
		dst = append(dst, changes[i].Key[:]...)
		dst = append(dst, a.Content[:]...)
		dst = binary.AppendVarint(dst, second-at)
		dst = binary.AppendVarint(dst, a.Offset-offset)
		dst = binary.AppendVarint(dst, a.Version-version)
		at, offset, version = second, a.Offset, a.Version
	}
	return dst
}

// Restore applies every change of a packed record in order. Restore records in the order in which they were written.
// It removes changes that have left the window meanwhile, so a topic with more than the window takes no more memory.
// After an error no change of the record was applied. The error wraps [ErrNewerLedger] or [ErrBrokenLedger].
func (l *Ledger) Restore(value []byte, now time.Time) error {
	check, err := openChanges(value)
	if err != nil {
		return err
	}
	notes := check
	for check.left > 0 {
		if _, err := check.next(); err != nil {
			return err
		}
	}
	if len(check.rest) > 0 {
		return fmt.Errorf("%w: %d bytes follow the last change", ErrBrokenLedger, len(check.rest))
	}
	l.cutoff = l.cutoffAt(now)
	for notes.left > 0 {
		c, err := notes.next()
		if err != nil {
			return err // the first pass read it without an error
		}
		l.Note(c.Key, c.Applied)
	}
	return nil
}

// ReadChanges returns the changes of a packed record in their order. An error wraps [ErrNewerLedger] or
// [ErrBrokenLedger]. To find the last effective events of many keys, restore a [Ledger]; ReadChanges is for callers
// that look for a few.
func ReadChanges(value []byte) ([]Change, error) {
	r, err := openChanges(value)
	if err != nil {
		return nil, err
	}
	changes := make([]Change, 0, r.left) // openChanges has checked the number against the length
	for r.left > 0 {
		c, err := r.next()
		if err != nil {
			return nil, err
		}
		changes = append(changes, c)
	}
	if len(r.rest) > 0 {
		return nil, fmt.Errorf("%w: %d bytes follow the last change", ErrBrokenLedger, len(r.rest))
	}
	return changes, nil
}

// changeReader reads a packed record change by change. It holds only its position, so it needs no memory besides the
// record.
type changeReader struct {
	rest                []byte
	count, left         uint64
	at, offset, version int64
}

func openChanges(value []byte) (changeReader, error) {
	switch {
	case len(value) == 0:
		return changeReader{}, fmt.Errorf("%w: it is empty", ErrBrokenLedger)
	case value[0] > changesVersion:
		return changeReader{}, fmt.Errorf("%w: it has version %d, and this program reads up to %d: run the newer program",
			ErrNewerLedger, value[0], changesVersion)
	case value[0] == 0:
		return changeReader{}, fmt.Errorf("%w: its first byte is 0, not a format version", ErrBrokenLedger)
	}
	count, n := binary.Uvarint(value[1:])
	r := changeReader{rest: value[1:], count: count, left: count}
	if err := r.skipVarint(n); err != nil {
		return changeReader{}, fmt.Errorf("%w: the number of changes: %w", ErrBrokenLedger, err)
	}
	if have := uint64(len(r.rest) / minChangeSize); count > have {
		return changeReader{}, fmt.Errorf("%w: it names %d changes and has room for %d: it is cut short", ErrBrokenLedger, count, have)
	}
	return r, nil
}

// next reads one change. left must be positive.
func (r *changeReader) next() (Change, error) {
	var c Change
	n := copy(c.Key[:], r.rest)
	n += copy(c.Applied.Content[:], r.rest[n:])
	r.rest = r.rest[n:]
	for _, field := range [...]*int64{&r.at, &r.offset, &r.version} {
		step, n := binary.Varint(r.rest)
		if err := r.skipVarint(n); err != nil {
			return Change{}, fmt.Errorf("%w: change %d of %d: %w", ErrBrokenLedger, r.count-r.left+1, r.count, err)
		}
		*field += step
	}
	if r.at < 0 || r.at > math.MaxUint32 {
		return Change{}, fmt.Errorf("%w: change %d of %d: its time is Unix second %d, out of range", ErrBrokenLedger, r.count-r.left+1, r.count, r.at)
	}
	r.left--
	c.Applied.At = time.Unix(r.at, 0).UTC()
	c.Applied.Offset, c.Applied.Version = r.offset, r.version
	return c, nil
}

// skipVarint skips a varint of which encoding/binary read n bytes.
func (r *changeReader) skipVarint(n int) error {
	switch {
	case n == 0:
		return errors.New("cut short")
	case n < 0:
		return errors.New("a number of more than 64 bits")
	case n > 1 && r.rest[n-1] == 0:
		return errors.New("a number that is not in its shortest form")
	}
	r.rest = r.rest[n:]
	return nil
}
