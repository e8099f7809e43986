package sample

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// notText says what the beginning of an input is that is no UTF-8 text, and what to do with it; "" for text.
func notText(start []byte) string {
	is := func(magic string) bool { return bytes.HasPrefix(start, []byte(magic)) }
	switch {
	case is("\x1f\x8b"):
		return "it is compressed with gzip; decompress it first: gzip -dc FILE | consumer init -"
	case is("\x28\xb5\x2f\xfd"):
		return "it is compressed with zstd; decompress it first: zstd -dc FILE | consumer init -"
	case is("PK\x03\x04"):
		return "it is a ZIP archive; unpack it first"
	case is("\xff\xfe"), is("\xfe\xff"):
		return "it is UTF-16; convert it first: iconv -f UTF-16 -t UTF-8 FILE | consumer init -"
	}
	return ""
}

// byteOrderMark may be ignored at the start of a JSON text (RFC 8259, section 8.1).
const byteOrderMark = "\xef\xbb\xbf"

// input counts the lines that were read.
type input struct {
	in    *bufio.Reader
	left  int64 // bytes that are read at most
	lines int
}

// newInput reads at most so many bytes of UTF-8 text.
func newInput(in io.Reader, most int64) (*input, error) {
	buffered := bufio.NewReader(in)
	start, _ := buffered.Peek(4) // a shorter input, or one that cannot be read, is met when it is read
	if what := notText(start); what != "" {
		return nil, fmt.Errorf("no GeoJSON: %s", what)
	}
	if bytes.HasPrefix(start, []byte(byteOrderMark)) {
		_, _ = buffered.Discard(len(byteOrderMark)) // it was peeked at
	}
	return &input{in: buffered, left: most}, nil
}

// Read reads, and counts.
func (i *input) Read(p []byte) (int, error) {
	if i.left <= 0 {
		return 0, io.EOF
	}
	n, err := i.in.Read(p[:min(int64(len(p)), i.left)])
	i.left -= int64(n)
	i.lines += bytes.Count(p[:n], []byte{'\n'})
	return n, err //nolint:wrapcheck // io.Reader
}

// line is where an error was met: at the value that the decoder cannot read, or at the end of the last one that it has read.
func (i *input) line(d *json.Decoder, err error) int {
	rest, _ := io.ReadAll(d.Buffered()) // of a buffer
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) || errors.Is(err, io.ErrUnexpectedEOF) {
		rest = bytes.TrimLeft(rest, " \t\r\n")
	}
	return 1 + i.lines - bytes.Count(rest, []byte{'\n'})
}
