package recordbatch

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/twmb/franz-go/pkg/kgo"
)

// largeFrame reads a record without its value.
func (g *group) largeFrame(f *frame, why string) (*Large, error) {
	if err := f.start(); err != nil {
		return nil, err
	}
	l, err := g.describe(f, io.Discard)
	if err != nil {
		return nil, err
	}
	l.Why = why + l.Why
	return l, nil
}

// describe reads what follows the times of a record. The value is written to a writer; what of key and headers is not too
// large itself is kept, and the rest is named.
func (g *group) describe(f *frame, value io.Writer) (*Large, error) {
	l := &Large{Stored: g.stored}
	n, err := f.field()
	if err != nil {
		return nil, err
	}
	key, fits, err := f.keep(n, maxKeyBytes)
	if err != nil {
		return nil, err
	}
	if !fits {
		l.Why = fmt.Sprintf("; its key has %d", n)
	}
	if l.Bytes, err = f.field(); err != nil {
		return nil, err
	}
	head := &beginning{most: headBytes}
	if err := f.copy(io.MultiWriter(head, value), max(l.Bytes, 0)); err != nil {
		return nil, err
	}
	l.Head = head.kept
	headers, err := g.headers(f, l)
	if err != nil {
		return nil, err
	}
	l.Record, err = g.without(f.fixed, key, headers)
	if err == nil {
		l.Last = l.Offset
	}
	return l, err
}

// headers reads the headers as they stand, or skips them when they are too large.
func (g *group) headers(f *frame, l *Large) ([]byte, error) {
	none := binary.AppendVarint(nil, 0)
	bytes := f.left
	count, err := f.varint()
	if err != nil {
		return nil, err
	}
	if count > maxHeaders || f.left > maxHeaderBytes {
		l.Why += fmt.Sprintf("; its %d headers have %d", count, bytes)
		return none, f.skip()
	}
	kept, _, err := f.keep(f.left, maxHeaderBytes)
	return append(binary.AppendVarint(nil, count), kept...), err
}

// without lets the client make a record of all that was kept: there is no value in it.
func (g *group) without(fixed, key, headers []byte) (*kgo.Record, error) {
	body := append([]byte(nil), fixed...)
	if key == nil {
		body = binary.AppendVarint(body, -1)
	} else {
		body = append(binary.AppendVarint(body, int64(len(key))), key...)
	}
	body = append(binary.AppendVarint(body, -1), headers...)
	records, err := g.made(append(binary.AppendVarint(nil, int64(len(body))), body...), 1)
	if err != nil {
		return nil, err
	}
	return records[0], nil
}

// giveLarge hands a large record over, unless it lies outside of what is read.
func (r *run) giveLarge(l *Large) error {
	if l.Offset < r.at || l.Offset >= r.end {
		return nil
	}
	if err := r.large(l); err != nil {
		return &callbackError{err}
	}
	r.at = l.Offset + 1
	return nil
}

// tooLarge says why a record of an old format, which the client has read, is too large; "" when it is not.
func (r *Reader) tooLarge(record *kgo.Record) string {
	if n := len(record.Key) + len(record.Value); n > r.limits.Record {
		return fmt.Sprintf("%d bytes, more than %d", n, r.limits.Record)
	}
	return ""
}

// largeOf makes a large record of one that is in memory.
func largeOf(record *kgo.Record, stored int, why string) *Large {
	l := &Large{Record: record, Last: record.Offset, Bytes: int64(len(record.Value)), Stored: stored, Why: why}
	if record.Value == nil {
		l.Bytes = -1
	}
	l.Head = bytes.Clone(record.Value[:min(len(record.Value), headBytes)])
	if len(record.Key) > maxKeyBytes {
		record.Key = nil
	}
	record.Value = nil
	return l
}

// frameOf is a record that is in memory, of which the bytes behind its length are given.
func frameOf(record []byte) frame {
	return frame{in: bufio.NewReader(bytes.NewReader(record)), left: int64(len(record))}
}

// beginning keeps the first bytes of what is written to it.
type beginning struct {
	kept []byte
	most int
}

// Write never fails.
func (b *beginning) Write(p []byte) (int, error) {
	b.kept = append(b.kept, p[:min(len(p), b.most-len(b.kept))]...)
	return len(p), nil
}
