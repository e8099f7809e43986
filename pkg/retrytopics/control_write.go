package retrytopics

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
// them together stay under 8 KiB.
//
// Every output has such headers, so they are written straight, all values into one piece of memory.
func (c Control) AppendTo(headers []kgo.RecordHeader) []kgo.RecordHeader {
	return c.appendTo(headers)
}

func (c *Control) appendTo(headers []kgo.RecordHeader) []kgo.RecordHeader {
	w := headerWriter{headers: slices.Grow(headers, usualHeaders), text: make([]byte, 0, c.usualBytes())}
	w.number(HeaderAttempt, int64(c.Attempt))
	w.number(HeaderMaxAttempts, int64(c.MaxAttempts))
	w.time(HeaderDue, c.Due)
	w.time(HeaderFirstFailedAt, c.FirstFailedAt)
	w.time(HeaderFailedAt, c.FailedAt)
	w.string(HeaderErrorClass, c.ErrorClass)
	w.string(HeaderErrorCode, c.ErrorCode)
	w.string(HeaderErrorStage, c.ErrorStage)
	w.string(HeaderErrorMessage, c.ErrorMessage)
	if c.ErrorRequest != nil {
		w.bounded(HeaderErrorRequest, c.ErrorRequest.Text())
	}
	if c.ErrorResponse != nil {
		w.bounded(HeaderErrorResponse, c.ErrorResponse.Text())
	}
	if c.HasSource {
		w.position(HeaderSource, &c.Source)
	}
	w.time(HeaderSourceTimestamp, c.SourceTimestamp)
	w.string(HeaderContentHash, c.ContentHash)
	w.string(HeaderFeatureID, c.FeatureID)
	w.string(HeaderBBox, c.BBox)
	w.number(HeaderSequence, c.Sequence)
	w.string(HeaderRunID, c.RunID)
	w.string(HeaderPipeline, c.Pipeline)
	w.string(HeaderDeadLetterID, c.DeadLetterID)
	w.string(HeaderReplayID, c.ReplayID)
	w.number(HeaderReplayCount, int64(c.ReplayCount))
	if c.ForceVersion {
		w.string(HeaderForceVersion, trueText)
	}
	if c.ReplaySource.Topic != "" {
		w.position(HeaderReplaySource, &c.ReplaySource)
	}
	w.string(HeaderLineage, c.Lineage)
	w.string(HeaderCare, c.Care)
	w.string(HeaderSovereignty, c.Sovereignty)
	return w.headers
}

// usualHeaders is how many control headers an output has.
const usualHeaders = 5

// usualBytes is about what the values of an output's headers take.
func (c *Control) usualBytes() int {
	return len(c.Source.Topic) + len(c.ContentHash) + len(c.FeatureID) + len(c.Pipeline) + 32
}

// headerWriter collects headers whose values lie one after another in text. A value stays where it is when text grows.
type headerWriter struct {
	headers []kgo.RecordHeader
	text    []byte
}

// end makes what was appended since from the value of a header.
func (w *headerWriter) end(name string, from int) {
	w.headers = append(w.headers, kgo.RecordHeader{Key: name, Value: w.text[from:len(w.text):len(w.text)]})
}

func (w *headerWriter) string(name, value string) { w.bounded(name, cleanText(value, name)) }

// bounded writes a text that is clean and short enough.
func (w *headerWriter) bounded(name, value string) {
	if value == "" {
		return
	}
	from := len(w.text)
	w.text = append(w.text, value...)
	w.end(name, from)
}

func (w *headerWriter) number(name string, value int64) {
	if value == 0 {
		return
	}
	from := len(w.text)
	w.text = strconv.AppendInt(w.text, value, 10)
	w.end(name, from)
}

func (w *headerWriter) time(name string, value time.Time) {
	if value.IsZero() {
		return
	}
	from := len(w.text)
	w.text = ceilMilli(value).AppendFormat(w.text, timeLayout)
	w.end(name, from)
}

func (w *headerWriter) position(name string, p *Position) {
	from := len(w.text)
	w.text = p.append(w.text)
	w.end(name, from)
}

func cleanText(text, key string) string {
	limit := maxTextBytes
	switch key {
	case HeaderErrorMessage:
		limit = maxMessageBytes
	case HeaderErrorClass, HeaderErrorCode, HeaderErrorStage:
		limit = maxWordBytes
	}
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\uFFFD")
	}
	return clip(text, limit-len("…"))
}
