package transform

import (
	"bytes"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/switchback-geo/switchback/pkg/internal/shorten"
)

// lineColumn returns the line and the column (in characters) of a byte offset,
// both from 1.
func lineColumn(src []byte, offset int64) (line, column int) {
	before := src[:min(offset, int64(len(src)))]
	line = bytes.Count(before, []byte{'\n'}) + 1
	return line, utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
}

// pointerAt returns the JSON pointer of the value that begins at or covers a byte offset. It reads the text again, which
// happens only for a refused record. All text before the offset must be JSON.
func pointerAt(src []byte, offset int64) string {
	decoder := jsontext.NewDecoder(bytes.NewBuffer(src))
	for {
		if _, err := decoder.ReadToken(); err != nil || decoder.InputOffset() > offset {
			return string(decoder.StackPointer())
		}
	}
}

// excerpt returns the text from start to end, or to its end if end is 0, cut to 80 characters.
func excerpt(src []byte, start, end int64) string {
	if end <= start || end > int64(len(src)) {
		end = int64(len(src))
	}
	start = min(start, int64(len(src)))
	return shorten.Text(src[start:end])
}
