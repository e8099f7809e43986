package batch

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"io"
)

// Oversized is what is known of a record that is too large to be kept.
type Oversized struct {
	Bytes     int64    // of the value; -1 when it is null
	SHA256    [32]byte // of the value
	Head      []byte   // the first HeadBytes of the value
	KeySHA256 [32]byte // of the key, when it is too large to be kept as well; else zero
}

const (
	// HeadBytes is how much of an oversized value is kept.
	HeadBytes = 1024
	// keptKey is the longest key that is kept of an oversized record.
	keptKey = 64 << 10
)

// oversized reads past a record of the given length. Its headers are left out: they may be what is large.
func (l *Large) oversized(ctx context.Context, length int64) (Item, error) {
	in := &measured{r: l.in, left: length}
	if _, err := in.ReadByte(); err != nil { // attributes, unused
		return Item{}, err
	}
	millis, err := binary.ReadVarint(in)
	if err != nil {
		return Item{}, err
	}
	delta, err := binary.ReadVarint(in)
	if err != nil {
		return Item{}, err
	}
	r := l.record(l.head.FirstOffset+delta, l.head.FirstTimestamp+millis)
	key, err := in.field(ctx, keptKey)
	if err != nil {
		return Item{}, err
	}
	value, err := in.field(ctx, HeadBytes)
	if err != nil {
		return Item{}, err
	}
	if err := in.skip(ctx); err != nil {
		return Item{}, err
	}
	known := &Oversized{Bytes: value.bytes, SHA256: [32]byte(value.sum.Sum(nil)), Head: value.head}
	if r.Key = key.head; key.bytes > keptKey {
		r.Key, known.KeySHA256 = nil, [32]byte(key.sum.Sum(nil))
	}
	return Item{Record: r, Pointer: known}, nil
}

// measured reads what is left of one record.
type measured struct {
	r interface {
		io.Reader
		io.ByteReader
	}
	left int64
}

func (m *measured) ReadByte() (byte, error) {
	if m.left <= 0 {
		return 0, io.ErrUnexpectedEOF
	}
	m.left--
	return m.r.ReadByte()
}

// field is a key or a value: its first bytes, and the hash of all. A missing one has the length -1 and no head.
type field struct {
	bytes int64
	head  []byte
	sum   hash.Hash
}

// stepBytes is how much is hashed before the context is asked again.
const stepBytes = 1 << 20

func (m *measured) field(ctx context.Context, most int64) (field, error) {
	n, err := binary.ReadVarint(m)
	switch {
	case err != nil:
		return field{}, err
	case n < 0:
		return field{bytes: n, sum: sha256.New()}, nil
	case n > m.left:
		return field{}, fmt.Errorf("a field of %d bytes in the last %d of a record", n, m.left)
	}
	f := field{bytes: n, head: make([]byte, min(n, most)), sum: sha256.New()}
	if _, err := io.ReadFull(m.r, f.head); err != nil {
		return field{}, err
	}
	f.sum.Write(f.head)
	err = copySteps(ctx, f.sum, m.r, n-int64(len(f.head)))
	m.left -= n
	return f, err
}

// skip reads past what is left.
func (m *measured) skip(ctx context.Context) error {
	err := copySteps(ctx, io.Discard, m.r, m.left)
	m.left = 0
	return err
}

func copySteps(ctx context.Context, to io.Writer, from io.Reader, n int64) error {
	for n > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		step := min(n, stepBytes)
		if _, err := io.CopyN(to, from, step); err != nil {
			return err
		}
		n -= step
	}
	return nil
}
