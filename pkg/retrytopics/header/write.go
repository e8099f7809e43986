package header

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kgo"
)

// AppendTo appends the headers whose value is set and returns the extended slice. The error message is cut to 1 KiB,
// class, code and stage to 64 bytes, what was asked and answered to 512 each and every other free text to 448, so that all of
// them together stay under 8 KiB; where parts of the record have ended, which ones takes up to 1.7 KiB more.
//
// The values share memory, one piece for those of an ordinary output.
func (c Control) AppendTo(headers []kgo.RecordHeader) []kgo.RecordHeader {
	w := headerWriter{headers: slices.Grow(headers, usualHeaders), text: make([]byte, 0, c.usualBytes())}
	c.write(&w)
	return w.headers
}

// write gives the writer all headers whose value is set.
func (c *Control) write(w *headerWriter) {
	w.number(KeyAttempt, int64(c.Attempt))
	w.number(KeyMaxAttempts, int64(c.MaxAttempts))
	w.time(KeyDue, c.Due)
	w.time(KeyFirstFailedAt, c.FirstFailedAt)
	w.time(KeyFailedAt, c.FailedAt)
	w.string(KeyErrorClass, c.ErrorClass)
	w.string(KeyErrorCode, c.ErrorCode)
	w.string(KeyErrorStage, c.ErrorStage)
	w.string(KeyErrorMessage, c.ErrorMessage)
	if c.ErrorRequest != nil {
		w.bounded(KeyErrorRequest, c.ErrorRequest.Text())
	}
	if c.ErrorResponse != nil {
		w.bounded(KeyErrorResponse, c.ErrorResponse.Text())
	}
	if c.HasSource {
		w.position(KeySource, &c.Source)
	}
	w.number(KeyGeneration, int64(c.Generation))
	w.time(KeySourceTimestamp, c.SourceTimestamp)
	w.string(KeyContentHash, c.ContentHash)
	w.string(KeyFeatureID, c.FeatureID)
	w.string(KeyBBox, c.BBox)
	w.number(KeySequence, c.Sequence)
	w.string(KeyRunID, c.RunID)
	w.string(KeyPipeline, c.Pipeline)
	w.string(KeyDeadLetterID, c.DeadLetterID)
	w.string(KeyReplayID, c.ReplayID)
	w.number(KeyReplayCount, int64(c.ReplayCount))
	if c.ForceVersion {
		w.string(KeyForceVersion, trueText)
	}
	if c.ReplaySource.Topic != "" {
		w.position(KeyReplaySource, &c.ReplaySource)
	}
	w.string(KeyLineage, c.Lineage)
	w.string(KeyCare, c.Care)
	w.string(KeySovereignty, c.Sovereignty)
	c.writePart(w)
}

const (
	usualHeaders = 5  // control headers of an output
	mostHeaders  = 31 // that there are, see fields
)

// usualBytes is about what the values of an output's headers take.
func (c *Control) usualBytes() int {
	return len(c.Source.Topic) + len(c.ContentHash) + len(c.FeatureID) + len(c.Pipeline) + 64
}

// Buffer is memory that the control headers of many outputs share, one after another: a worker's own. Every output has
// such headers, and memory of its own for each would cost more than writing them.
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
	if most := len(headers) + mostHeaders; cap(s.headers)-len(s.headers) < most {
		s.headers = make([]kgo.RecordHeader, 0, max(slabHeaders, most))
	}
	from := len(s.headers)
	w := headerWriter{headers: append(s.headers, headers...), text: s.text}
	c.write(&w)
	s.headers, s.text = w.headers, w.text
	return slices.Clip(s.headers[from:])
}

// headerWriter collects headers whose values lie one after another in text. Where text is full, it goes on in another one.
type headerWriter struct {
	headers []kgo.RecordHeader
	text    []byte
}

// room gives the place of the next value, of at most n bytes.
func (w *headerWriter) room(n int) (from int) {
	if cap(w.text)-len(w.text) < n {
		w.text = make([]byte, 0, max(textRoom, n))
	}
	return len(w.text)
}

// end makes what was appended since from the value of a header.
func (w *headerWriter) end(name string, from int) {
	w.headers = append(w.headers, kgo.RecordHeader{Key: name, Value: w.text[from:len(w.text):len(w.text)]})
}

func (w *headerWriter) string(name, value string) {
	if value != "" {
		w.bounded(name, cleanText(value, name))
	}
}

// bounded writes a text that is clean and short enough.
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
	from := w.room(len(p.Topic) + 2*(1+maxNumber))
	w.text = p.append(w.text)
	w.end(name, from)
}

func cleanText(text, key string) string {
	limit := maxTextBytes
	switch key {
	case KeyErrorMessage:
		limit = maxMessageBytes
	case KeyErrorClass, KeyErrorCode, KeyErrorStage:
		limit = maxWordBytes
	}
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\uFFFD")
	}
	return Clip(text, limit-len("…"))
}
