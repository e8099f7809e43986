package jsontexts

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
)

// byteOrderMark may be ignored at the start of a JSON text (RFC 8259, section 8.1).
const byteOrderMark = "\xef\xbb\xbf"

const bufferBytes = 1 << 16

// open decompresses gzip, passes over a byte order mark, and refuses what is no UTF-8 text.
func open(in io.Reader) (*bufio.Reader, error) {
	buffered := bufio.NewReaderSize(in, bufferBytes)
	start, _ := buffered.Peek(4) // a shorter input, or one that cannot be read, is met when it is read
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

// notText describes an input that is no UTF-8 text by its first bytes, with what to do; it returns "" for text.
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
