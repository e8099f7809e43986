package recordbatch

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// errFrame marks bytes that are not a record of format 2.
var errFrame = errors.New("it is not a record")

// frame is one record of format 2 in a stream: a length, then attributes, times, key, value and headers.
type frame struct {
	in     *bufio.Reader
	before int    // bytes of its length that are still in the stream
	left   int64  // bytes of the record that are not read yet
	fixed  []byte // attributes, delta of the timestamp and delta of the offset, encoded
	delta  int64  // offset minus the batch's first offset
}

// take removes the length from the stream.
func (f *frame) take() error {
	_, err := f.in.Discard(f.before)
	f.before = 0
	return unexpected(err)
}

// mostFixed is the largest size of a length, attributes and two deltas.
const mostFixed = 3*binary.MaxVarintLen64 + 1

// nextFrame reads the length of the next record. The record stays in the stream until it is read, copied or skipped.
func nextFrame(in *bufio.Reader) (frame, error) {
	head, err := in.Peek(mostFixed)
	length, n := binary.Varint(head)
	if n <= 0 {
		return frame{}, cmp.Or(unexpected(err), errFrame)
	}
	if length < 0 || length > math.MaxInt32 {
		return frame{}, fmt.Errorf("%w: its length is %d", errFrame, length)
	}
	f := frame{in: in, left: length, before: n}
	rest := head[n:]
	if len(rest) > 0 {
		rest = rest[1:] // attributes
	}
	_, n = binary.Varint(rest) // timestamp
	if n > 0 {
		f.delta, n = binary.Varint(rest[n:])
	}
	if n <= 0 {
		return frame{}, cmp.Or(unexpected(err), errFrame)
	}
	return f, nil
}

// unexpected returns the error for a stream that ends too early.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// appendRecord appends the record with its length to a buffer.
func (f *frame) appendRecord(to []byte) ([]byte, error) {
	if err := f.take(); err != nil {
		return to, err
	}
	to = binary.AppendVarint(to, f.left)
	from := len(to)
	to = append(to, make([]byte, f.left)...)
	_, err := io.ReadFull(f.in, to[from:])
	return to, unexpected(err)
}

// varint reads a number of the record.
func (f *frame) varint() (int64, error) {
	r := counted{f}
	n, err := binary.ReadVarint(r)
	return n, unexpected(err)
}

// counted reads single bytes of a frame and counts them.
type counted struct{ *frame }

// ReadByte implements [io.ByteReader].
func (c counted) ReadByte() (byte, error) {
	if c.left <= 0 {
		return 0, fmt.Errorf("%w: it ends too early", errFrame)
	}
	c.left--
	return c.in.ReadByte()
}

// start reads the fields before the key.
func (f *frame) start() error {
	if err := f.take(); err != nil {
		return err
	}
	attributes, err := counted{f}.ReadByte()
	if err != nil {
		return unexpected(err)
	}
	at, err := f.varint()
	if err != nil {
		return err
	}
	if f.delta, err = f.varint(); err != nil {
		return err
	}
	f.fixed = binary.AppendVarint(binary.AppendVarint([]byte{attributes}, at), f.delta)
	return nil
}

// field reads the length of a key or a value: -1 is null.
func (f *frame) field() (int64, error) {
	n, err := f.varint()
	if err == nil && (n < -1 || n > f.left) {
		err = fmt.Errorf("%w: a part of it has %d bytes of %d", errFrame, n, f.left)
	}
	return n, err
}

// keep reads n bytes. If they are more than a limit, it writes them to a writer and does not keep them.
func (f *frame) keep(n, limit int64, over io.Writer) (kept []byte, ok bool, err error) {
	if n < 0 {
		return nil, true, nil
	}
	if n > limit {
		return nil, false, f.copy(over, n)
	}
	kept = make([]byte, n)
	f.left -= n
	_, err = io.ReadFull(f.in, kept)
	return kept, true, unexpected(err)
}

// copy writes n bytes of the record.
func (f *frame) copy(to io.Writer, n int64) error {
	f.left -= n
	_, err := io.CopyN(to, f.in, n)
	return unexpected(err)
}

// skip reads past the remaining bytes of the record.
func (f *frame) skip() error {
	if err := f.take(); err != nil {
		return err
	}
	return f.copy(io.Discard, f.left)
}

// mostHeaders returns the largest number of headers in this many bytes: each header has two lengths.
func mostHeaders(bytes int64) int64 { return bytes / 2 }

// headersOf returns the size of a record's headers in the batch and in memory. The record is given without its
// length.
func headersOf(record []byte) (stored, weight int64, err error) {
	if len(record) == 0 {
		return 0, 0, errFrame
	}
	rest := record[1:]
	for range 2 { // timestamp and offset
		_, n := binary.Varint(rest)
		if n <= 0 {
			return 0, 0, errFrame
		}
		rest = rest[n:]
	}
	for range 2 { // key and value
		length, n := binary.Varint(rest)
		if n <= 0 || length > int64(len(rest)-n) {
			return 0, 0, errFrame
		}
		rest = rest[n+int(max(length, 0)):]
	}
	count, n := binary.Varint(rest)
	if n <= 0 || count > mostHeaders(int64(len(rest)-n)) {
		return 0, 0, errFrame
	}
	return int64(len(rest)), count*headerWeight + int64(len(rest)-n), nil
}
