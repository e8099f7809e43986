package jsontexts

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
)

// separator precedes each text of a sequence (RFC 8142).
const separator = 0x1e

// Text is one JSON text, or input that is not JSON.
type Text struct {
	Line    int    // of its beginning, from 1
	Bytes   []byte // without white space around it; nil if it is too long
	TooLong int    // number of its bytes if it is too long, otherwise 0
}

// Reader reads texts. It is for one goroutine.
type Reader struct {
	in     *bufio.Reader
	source io.Reader
	limit  int
	lines  int // that were read
	text   pending
	ready  []Text
	err    error // of reading; it is returned after ready
}

// New returns a reader that keeps texts of at most limit bytes.
func New(in io.Reader, limit int) *Reader { return &Reader{source: in, limit: limit} }

// Line returns the number of the line that was read last.
func (r *Reader) Line() int { return max(r.lines, 1) }

// Waiting reports whether the next text requires a read from the input.
func (r *Reader) Waiting() bool { return len(r.ready) == 0 && (r.in == nil || r.in.Buffered() == 0) }

// Next returns the next text. The error is io.EOF at the end, or a read error.
func (r *Reader) Next() (Text, error) {
	if r.in == nil && r.err == nil {
		if r.in, r.err = open(r.source); r.err != nil {
			return Text{}, r.err
		}
	}
	for len(r.ready) == 0 {
		if r.err != nil {
			return Text{}, r.err
		}
		r.line()
	}
	next := r.ready[0]
	r.ready = r.ready[1:]
	return next, nil
}

// line reads up to the end of a line, piece by piece, and keeps no more of it than the limit.
func (r *Reader) line() {
	var kept []byte
	size, number := 0, r.lines+1
	for {
		part, err := r.in.ReadSlice('\n')
		size += len(part)
		if size <= r.limit+len("\r\n") {
			kept = append(kept, part...)
		} else {
			kept = nil
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		r.lines++
		if kept == nil && size > 0 {
			r.tooLong(number, size)
		} else {
			r.take(number, kept)
		}
		if err != nil {
			r.err = err
			r.broken()
		}
		return
	}
}

// tooLong handles a line that is longer than the limit.
func (r *Reader) tooLong(number, size int) {
	if r.text.open() {
		r.text.size += size
		r.text.bytes = nil
		return
	}
	r.ready = append(r.ready, Text{Line: number, TooLong: size})
}

// take splits a line at the separators.
func (r *Reader) take(number int, line []byte) {
	for {
		before, after, found := bytes.Cut(line, []byte{separator})
		r.piece(number, before)
		if !found {
			return
		}
		r.broken()
		line = after
	}
}

// piece handles a line, or the part of one between separators: it continues the open text, and begins others.
func (r *Reader) piece(number int, line []byte) {
	if r.text.open() && begins(line) && !r.text.takesValue() {
		r.broken()
	}
	if r.text.skipping = r.text.skipping && !begins(line); r.text.skipping {
		return
	}
	for {
		continued := r.text.open()
		if !continued {
			if line = bytes.TrimSpace(line); len(line) == 0 {
				return
			}
			if line[0] != '{' && line[0] != '[' {
				r.add(number, line)
				return
			}
			r.text = pending{line: number, stack: r.text.stack[:0]}
		}
		end := r.text.scan(line)
		if end < 0 {
			r.keep(line)
			if r.text.inString { // no string continues on the next line
				r.broken()
				r.text.skipping = continued
			}
			return
		}
		if rest := bytes.TrimSpace(line[end:]); len(rest) > 0 && rest[0] != '{' {
			end = len(line) // with what should not be there
		}
		r.keep(line[:end])
		r.flush()
		line = line[end:]
	}
}

// begins reports whether a line looks like the beginning of a text: an object that is not indented.
func begins(line []byte) bool { return len(line) > 0 && line[0] == '{' }

// keep adds to the open text, unless it is too long.
func (r *Reader) keep(line []byte) {
	t := &r.text
	tooLong := t.size > 0 && t.bytes == nil
	if t.size += len(line); tooLong || t.size > r.limit+len("\r\n") {
		t.bytes = nil
		return
	}
	t.bytes = append(t.bytes, line...)
	if n := len(line); n > 0 && line[n-1] != '\n' {
		t.bytes = append(t.bytes, '\n') // white space was cut off
	}
}

// flush ends the open text.
func (r *Reader) flush() {
	t := r.text
	r.text = pending{stack: t.stack[:0]}
	switch {
	case t.size == 0:
	case t.bytes == nil:
		r.ready = append(r.ready, Text{Line: t.line, TooLong: t.size})
	default:
		r.add(t.line, bytes.TrimSpace(t.bytes))
	}
}

// broken ends a text that is not complete. If its second line looks like the beginning of a text, only the first line was broken, and each
// line becomes a text.
func (r *Reader) broken() {
	t := r.text
	first := bytes.IndexByte(t.bytes, '\n')
	if first < 0 || !begins(t.bytes[first+1:]) {
		r.flush()
		return
	}
	r.text = pending{stack: t.stack[:0]}
	number := t.line
	for line := range bytes.Lines(t.bytes) {
		if line = bytes.TrimSpace(line); len(line) > 0 {
			r.add(number, line)
		}
		number++
	}
}

// add queues a text.
func (r *Reader) add(number int, text []byte) {
	if len(text) > r.limit {
		r.ready = append(r.ready, Text{Line: number, TooLong: len(text)})
		return
	}
	r.ready = append(r.ready, Text{Line: number, Bytes: text})
}

// byteOrderMark may be ignored at the start of a JSON text (RFC 8259, section 8.1).
const byteOrderMark = "\xef\xbb\xbf"

const bufferBytes = 1 << 16

// open decompresses gzip, skips a byte order mark, and refuses input that is not UTF-8 text.
func open(in io.Reader) (*bufio.Reader, error) {
	buffered := bufio.NewReaderSize(in, bufferBytes)
	start, _ := buffered.Peek(4) // a read reports an input that is shorter or cannot be read
	if bytes.HasPrefix(start, []byte("\x1f\x8b")) {
		unzipped, err := gzip.NewReader(buffered)
		if err != nil {
			return nil, fmt.Errorf("decompress the input: %w", err)
		}
		buffered = bufio.NewReaderSize(unzipped, bufferBytes)
		start, _ = buffered.Peek(4)
	}
	if what := notText(start); what != "" {
		return nil, fmt.Errorf("no GeoJSON: %s", what)
	}
	if bytes.HasPrefix(start, []byte(byteOrderMark)) {
		_, _ = buffered.Discard(len(byteOrderMark)) // it was peeked at
	}
	return buffered, nil
}

// notText examines the first bytes of an input that is not UTF-8 text, and returns what the input is and what to do; ""
// if it may be text.
func notText(start []byte) string {
	is := func(magic string) bool { return bytes.HasPrefix(start, []byte(magic)) }
	switch {
	case is("\x28\xb5\x2f\xfd"):
		return "it is compressed with zstd; decompress it first: zstd -dc FILE"
	case is("BZh"):
		return "it is compressed with bzip2; decompress it first: bzip2 -dc FILE"
	case is("\xfd7zX"):
		return "it is compressed with xz; decompress it first: xz -dc FILE"
	case is("PK\x03\x04"):
		return "it is a ZIP archive; unpack it first"
	case is("\xff\xfe"), is("\xfe\xff"):
		return "it is UTF-16; convert it first: iconv -f UTF-16 -t UTF-8 FILE"
	}
	return ""
}

// pending is a text whose end is not read yet.
type pending struct {
	line     int
	bytes    []byte // nil if it is too long
	size     int
	stack    []byte // open braces and brackets
	inString bool
	last     byte // outside of white space
	skipping bool // the lines up to the next text belong to a broken one
}

func (t *pending) open() bool { return len(t.stack) > 0 }

// takesValue reports whether the text may continue with an object.
func (t *pending) takesValue() bool {
	if !t.open() || t.inString {
		return false
	}
	inArray := t.stack[len(t.stack)-1] == '['
	return t.last == ':' || inArray && (t.last == '[' || t.last == ',')
}

// scan follows braces, brackets and strings, and returns the index after the end of the text, or -1. It does not
// validate the text.
func (t *pending) scan(line []byte) int {
	escaped := false
	for i, c := range line {
		if t.inString {
			switch {
			case escaped:
				escaped = false
			case c == '\\':
				escaped = true
			case c == '"':
				t.inString = false
			}
			continue
		}
		switch c {
		case ' ', '\t', '\r', '\n':
			continue
		case '"':
			t.inString = true
		case '{', '[':
			t.stack = append(t.stack, c)
		case '}', ']':
			if t.stack = t.stack[:len(t.stack)-1]; len(t.stack) == 0 {
				return i + 1
			}
		}
		t.last = c
	}
	return -1
}
