package header

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/classify"
)

// AppendTo appends the headers whose value is set, and returns the extended slice. It cuts the error message to 1 KiB,
// class, code and stage to 64 bytes, request and response to 512 each and every other free text to 448, so that all of
// them together stay under 8 KiB. The list of remaining parts takes up to 1.7 KiB more.
//
// The values share memory; an ordinary output needs one allocation.
func (c Control) AppendTo(headers []kgo.RecordHeader) []kgo.RecordHeader {
	w := headerWriter{headers: slices.Grow(headers, usualHeaders), text: make([]byte, 0, c.usualBytes())}
	c.write(&w)
	return w.headers
}

// write passes all headers whose value is set to the writer.
func (c *Control) write(w *headerWriter) {
	table := c.table()
	for i := range table {
		if e := &table[i]; e.key != KeySource || c.HasSource {
			w.field(e)
		}
	}
}

// usualHeaders is the number of control headers of an ordinary output.
const usualHeaders = 5

// usualBytes is the approximate size of an output's header values.
func (c *Control) usualBytes() int {
	return len(c.Source.Topic) + len(c.ContentHash) + len(c.FeatureID) + len(c.Pipeline) + 64
}

// Buffer is memory for the control headers of many outputs, owned by one worker. Every output has such headers, and
// separate allocations would cost more than writing them.
type Buffer struct {
	headers []kgo.RecordHeader
	text    []byte
}

const (
	slabHeaders = 256
	textRoom    = 4096 // bytes
)

// Append is Control.AppendTo in the buffer.
func (s *Buffer) Append(headers []kgo.RecordHeader, c *Control) []kgo.RecordHeader {
	if most := len(headers) + controlHeaders; cap(s.headers)-len(s.headers) < most {
		s.headers = make([]kgo.RecordHeader, 0, max(slabHeaders, most))
	}
	from := len(s.headers)
	w := headerWriter{headers: append(s.headers, headers...), text: s.text}
	c.write(&w)
	s.headers, s.text = w.headers, w.text
	return slices.Clip(s.headers[from:])
}

// headerWriter collects headers whose values lie one after another in text. If text is full, it continues in another
// one.
type headerWriter struct {
	headers []kgo.RecordHeader
	text    []byte
}

// room returns the start of the next value, which has at most n bytes.
func (w *headerWriter) room(n int) (from int) {
	if cap(w.text)-len(w.text) < n {
		w.text = make([]byte, 0, max(textRoom, n))
	}
	return len(w.text)
}

// end makes everything appended since from the value of a header.
func (w *headerWriter) end(name string, from int) {
	w.headers = append(w.headers, kgo.RecordHeader{Key: name, Value: w.text[from:len(w.text):len(w.text)]})
}

// field writes one header, unless its value is zero.
func (w *headerWriter) field(e *entry) {
	switch v := e.value.(type) {
	case *string:
		if *v != "" {
			w.bounded(e.key, cleanText(*v, e.limit))
		}
	case *int:
		w.number(e.key, int64(*v))
	case *int64:
		w.number(e.key, *v)
	case *bool:
		if *v {
			w.bounded(e.key, trueText)
		}
	case *time.Time:
		w.time(e.key, *v)
	case *Position:
		w.position(e.key, v)
	case *Part:
		w.bounded(e.key, v.String())
	case **int64:
		if *v != nil {
			w.bounded(e.key, strconv.FormatInt(**v, 10))
		}
	case **Remaining:
		if *v != nil {
			w.bounded(e.key, (*v).String())
		}
	case **classify.Request:
		if *v != nil {
			w.bounded(e.key, (*v).Text())
		}
	case **classify.Response:
		if *v != nil {
			w.bounded(e.key, (*v).Text())
		}
	}
}

// bounded writes a text that is valid and short enough.
func (w *headerWriter) bounded(name, value string) {
	if value == "" {
		return
	}
	from := w.room(len(value))
	w.text = append(w.text, value...)
	w.end(name, from)
}

// maxNumber is the length of the longest number.
const maxNumber = len("-9223372036854775808")

func (w *headerWriter) number(name string, value int64) {
	if value == 0 {
		return
	}
	from := w.room(maxNumber)
	w.text = strconv.AppendInt(w.text, value, 10)
	w.end(name, from)
}

func (w *headerWriter) time(name string, value time.Time) {
	if value.IsZero() {
		return
	}
	from := w.room(len(timeLayout))
	w.text = RoundUp(value).AppendFormat(w.text, timeLayout)
	w.end(name, from)
}

func (w *headerWriter) position(name string, p *Position) {
	if p.Topic == "" {
		return
	}
	from := w.room(len(p.Topic) + 2*(1+maxNumber))
	w.text = p.append(w.text)
	w.end(name, from)
}

// cleanText cuts a text and makes it valid UTF-8.
func cleanText(text string, limit int) string {
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\uFFFD")
	}
	return Clip(text, limit-len("…"))
}
