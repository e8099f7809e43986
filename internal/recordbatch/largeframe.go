package recordbatch

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
)

// largeFrame reads a record without keeping its value.
func (g *group) largeFrame(f *frame) (*Large, error) {
	total := f.left
	if err := f.start(); err != nil {
		return nil, err
	}
	value := g.value
	if value == nil {
		value = io.Discard
	}
	l, headers, err := g.describe(f, value)
	if err != nil {
		return nil, err
	}
	var why []string
	if n := total - headers; n > int64(g.limits.Record) {
		why = append(why, fmt.Sprintf("it has %d bytes, more than %d", n, g.limits.Record))
	}
	for _, more := range []string{l.Why, l.Crowded} {
		if more != "" {
			why = append(why, more)
		}
	}
	l.Why = strings.Join(why, "; ")
	return l, nil
}

// describe reads the record after its deltas, and returns the size of its headers. It writes the value to a writer,
// keeps key and headers unless they are too large themselves, and names the parts that it does not keep.
func (g *group) describe(f *frame, value io.Writer) (l *Large, headers int64, err error) {
	l = &Large{Stored: g.stored}
	n, err := f.field()
	if err != nil {
		return nil, 0, err
	}
	sum := sha256.New()
	key, fits, err := f.keep(n, maxKeyBytes, sum)
	if err != nil {
		return nil, 0, err
	}
	if !fits {
		l.Why, l.KeySHA256 = fmt.Sprintf("its key has %d", n), [sha256.Size]byte(sum.Sum(nil))
	}
	if l.Bytes, err = f.field(); err != nil {
		return nil, 0, err
	}
	head := &beginning{limit: headBytes}
	sum.Reset()
	if err := f.copy(io.MultiWriter(head, sum, value), max(l.Bytes, 0)); err != nil {
		return nil, 0, err
	}
	l.Head, l.SHA256, headers = head.kept, [sha256.Size]byte(sum.Sum(nil)), f.left
	kept, err := g.headers(f, l)
	if err != nil {
		return nil, 0, err
	}
	l.Record, err = g.without(f.fixed, key, kept)
	if err == nil {
		l.Last = l.Offset
	}
	return l, headers, err
}

// headers reads the encoded headers. If they are too large, it keeps those that the limits name.
func (g *group) headers(f *frame, l *Large) ([]byte, error) {
	count, err := f.varint()
	if err != nil {
		return nil, err
	}
	if count > mostHeaders(f.left) {
		return nil, fmt.Errorf("%w: it announces %d headers, and has %d bytes for them", errFrame, count, f.left)
	}
	if weight := count*headerWeight + f.left; weight > int64(g.limits.Headers) {
		l.Crowded = fmt.Sprintf("its %d headers take %d bytes in memory, more than %d", count, weight, g.limits.Headers)
		return g.chosenHeaders(f, count)
	}
	kept, _, err := f.keep(f.left, f.left, io.Discard)
	return append(binary.AppendVarint(nil, count), kept...), err
}

// maxNameBytes is the longest name of a header that is kept of too many.
const maxNameBytes = 256

// chosenHeaders reads past the headers and keeps those that the limits name, unless these are too large as well.
func (g *group) chosenHeaders(f *frame, count int64) ([]byte, error) {
	var kept []byte
	chosen := int64(0)
	for range count {
		n, err := f.field()
		if err != nil {
			return nil, err
		}
		name, fits, err := f.keep(n, maxNameBytes, io.Discard)
		if err != nil {
			return nil, err
		}
		limit := int64(-1)
		if fits && g.limits.Keep != nil && g.limits.Keep(string(name)) {
			limit = maxChosenBytes - int64(len(kept)) - chosen*headerWeight
		}
		if n, err = f.field(); err != nil {
			return nil, err
		}
		value, fits, err := f.keep(n, limit, io.Discard)
		if err != nil {
			return nil, err
		}
		if limit < 0 || !fits {
			continue
		}
		chosen++
		kept = append(binary.AppendVarint(kept, int64(len(name))), name...)
		kept = append(binary.AppendVarint(kept, n), value...)
	}
	return append(binary.AppendVarint(nil, chosen), kept...), f.skip()
}

// without makes a record from the kept parts, without a value, which the client decodes.
func (g *group) without(fixed, key, headers []byte) (*kgo.Record, error) {
	body := append([]byte(nil), fixed...)
	if key == nil {
		body = binary.AppendVarint(body, -1)
	} else {
		body = append(binary.AppendVarint(body, int64(len(key))), key...)
	}
	body = append(binary.AppendVarint(body, -1), headers...)
	records, err := g.decode(append(binary.AppendVarint(nil, int64(len(body))), body...), 1)
	if err != nil {
		return nil, err
	}
	return records[0], nil
}

// giveLarge passes on a large record, unless it is outside the offsets to read.
func (r *run) giveLarge(l *Large) error {
	if l.Offset < r.at || l.Offset >= r.end {
		return nil
	}
	if err := r.took(r.large(l)); err != nil {
		return err
	}
	r.at = l.Offset + 1
	return nil
}

// tooLarge returns the reason why a record of an old format, which the client has decoded, is too large; "" if it is
// not.
func (r *Reader) tooLarge(record *kgo.Record) string {
	if n := len(record.Key) + len(record.Value); n > r.limits.Record {
		return fmt.Sprintf("%d bytes, more than %d", n, r.limits.Record)
	}
	return ""
}

// largeOf turns a record in memory into a Large.
func largeOf(record *kgo.Record, stored int, why string) *Large {
	l := &Large{Record: record, Last: record.Offset, Bytes: int64(len(record.Value)), Stored: stored, Why: why}
	if record.Value == nil {
		l.Bytes = -1
	}
	l.Head, l.SHA256 = bytes.Clone(record.Value[:min(len(record.Value), headBytes)]), sha256.Sum256(record.Value)
	if len(record.Key) > maxKeyBytes {
		l.KeySHA256, record.Key = sha256.Sum256(record.Key), nil
	}
	record.Value = nil
	return l
}

// frameOf returns the frame of a record in memory, given without its length.
func frameOf(record []byte) frame {
	return frame{in: bufio.NewReader(bytes.NewReader(record)), left: int64(len(record))}
}

// beginning keeps the first bytes that are written to it.
type beginning struct {
	kept  []byte
	limit int
}

// Write implements [io.Writer]. It never fails.
func (b *beginning) Write(p []byte) (int, error) {
	b.kept = append(b.kept, p[:min(len(p), b.limit-len(b.kept))]...)
	return len(p), nil
}
