package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// What is printed as JSON. The names are a contract: scripts read them.

type positionJSON struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Offset    int64  `json:"offset"`
}

func positionOf(p retrytopics.Position) positionJSON { return positionJSON(p) }

type errorJSON struct {
	Class      string `json:"class"`
	Code       string `json:"code"`
	Stage      string `json:"stage"`
	Message    string `json:"message"`
	CauseClass string `json:"cause_class"` // of other software's exceptions; empty for our own letters

	Request  *classify.Request  `json:"request,omitempty"`  // what was asked of another system
	Response *classify.Response `json:"response,omitempty"` // what it answered
}

// bytesJSON is text where it is text and base64 where it is not; both null for no bytes at all.
type bytesJSON struct {
	Text   *string
	Base64 *string
}

func bytesOf(b []byte) bytesJSON {
	if b == nil {
		return bytesJSON{}
	}
	text := string(b)
	if utf8.Valid(b) {
		return bytesJSON{Text: &text}
	}
	text = base64.StdEncoding.EncodeToString(b)
	return bytesJSON{Base64: &text}
}

type letterJSON struct {
	ID             string        `json:"id"`
	Dialect        string        `json:"dialect"`
	DLQ            positionJSON  `json:"dlq"`
	Source         *positionJSON `json:"source"`
	SourceTopic    string        `json:"source_topic,omitempty"` // as in entryJSON
	Key            *string       `json:"key"`
	KeyBase64      *string       `json:"key_base64,omitempty"`
	Error          errorJSON     `json:"error"`
	Status         string        `json:"status"`
	ContentHash    string        `json:"content_hash"`
	Group          string        `json:"group"`
	DiedAt         string        `json:"died_at"`
	SourceTime     string        `json:"source_timestamp,omitempty"`
	FeatureID      string        `json:"feature_id,omitempty"`
	Part           string        `json:"part,omitempty"` // which part of the record at source it is, such as 17/230, from 0
	Attempts       int           `json:"attempts"`
	Deaths         int           `json:"deaths"`
	ReprocessCount int           `json:"reprocess_count"`
	GoneAt         string        `json:"gone_at,omitempty"`
	Problems       []string      `json:"problems,omitempty"`
	Value          *string       `json:"value"`
	ValueBase64    *string       `json:"value_base64,omitempty"`

	TooLarge string          `json:"too_large,omitempty"` // why there is no value, although the record is no tombstone
	Pointer  json.RawMessage `json:"pointer,omitempty"`   // where the original lies, when the record only points at it
	Bytes    int             `json:"bytes,omitempty"`     // of the original value, with too_large or pointer
}

// entryJSON is one line of list: these fields and no others, whatever the DLQ's dialect. What is no
// text stands in base64 under a name of its own, instead of the other.
type entryJSON struct {
	ID          string         `json:"id"`
	Dialect     string         `json:"dialect"`
	DLQ         positionJSON   `json:"dlq"`
	Source      *positionJSON  `json:"source"`
	SourceTopic string         `json:"source_topic,omitempty"` // where nothing else of the source is known
	Key         any            `json:"key,omitzero"`
	KeyBase64   *string        `json:"key_base64,omitempty"`
	Error       entryErrorJSON `json:"error"`
	Status      string         `json:"status"`
	ContentHash string         `json:"content_hash"`
	Value       any            `json:"value,omitzero"`
	ValueBase64 *string        `json:"value_base64,omitempty"`

	TooLarge string          `json:"too_large,omitempty"` // as in letterJSON
	Pointer  json.RawMessage `json:"pointer,omitempty"`
	Bytes    int             `json:"bytes,omitempty"`
}

type entryErrorJSON struct {
	Class      string `json:"class"`
	Code       string `json:"code"`
	Message    string `json:"message"`
	CauseClass string `json:"cause_class"`
}

// entryOf is the line of a letter; without its content it has no value.
func entryOf(l deadletters.Letter) entryJSON {
	full := letterOf(l)
	out := entryJSON{
		ID: full.ID, Dialect: full.Dialect, DLQ: full.DLQ, Source: full.Source, SourceTopic: full.SourceTopic, KeyBase64: full.KeyBase64,
		Error:  entryErrorJSON{Class: full.Error.Class, Code: full.Error.Code, Message: full.Error.Message, CauseClass: full.Error.CauseClass},
		Status: full.Status, ContentHash: full.ContentHash, ValueBase64: full.ValueBase64,
	}
	if full.KeyBase64 == nil {
		out.Key = full.Key // null when there is none
	}
	out.TooLarge, out.Pointer, out.Bytes = full.TooLarge, full.Pointer, full.Bytes
	if full.ValueBase64 == nil && l.Content != nil && l.HoldsValue() {
		out.Value = full.Value // null for a tombstone
	}
	return out
}

// letterOf is the JSON of a letter with its content.
func letterOf(l deadletters.Letter) letterJSON {
	key := bytesOf(l.Key)
	out := letterJSON{
		ID: l.ID, Dialect: string(l.Dialect), DLQ: positionOf(l.DLQ), Key: key.Text, KeyBase64: key.Base64,
		Error: errorJSON{
			Class: l.Control.ErrorClass, Code: l.Control.ErrorCode, Stage: l.Control.ErrorStage, Message: l.Control.ErrorMessage,
			CauseClass: l.CauseClass, Request: l.Control.ErrorRequest, Response: l.Control.ErrorResponse,
		},
		Status: statusText(l.Status), ContentHash: l.ContentHash, Group: l.Group, DiedAt: timeText(l.At),
		FeatureID: l.Control.FeatureID, Part: l.Control.Part.String(), Attempts: l.Control.Attempt, Deaths: l.Deaths,
		ReprocessCount: l.State.ReprocessCount, Problems: l.Problems,
	}
	if source, ok := l.Source(); ok {
		p := positionOf(source)
		out.Source = &p
	} else {
		out.SourceTopic = source.Topic
	}
	if at := l.Control.SourceTimestamp; !at.IsZero() {
		out.SourceTime = timeText(at)
	}
	if !l.Gone.IsZero() {
		out.GoneAt = timeText(l.Gone)
	}
	if l.Content != nil && l.HoldsValue() {
		value := bytesOf(l.Content.Value)
		out.Value, out.ValueBase64 = value.Text, value.Base64
	}
	if l.Pointer != nil {
		out.Pointer = l.Pointer.Append(nil)[0].Value
	}
	if out.TooLarge = l.TooLarge; l.Pointer != nil || l.TooLarge != "" {
		out.Bytes = l.Size
	}
	return out
}

type headerJSON struct {
	Key         string  `json:"key"`
	Value       *string `json:"value"`
	ValueBase64 *string `json:"value_base64,omitempty"`
}

func headersOf(headers []kgo.RecordHeader) []headerJSON {
	out := make([]headerJSON, 0, len(headers))
	for _, h := range headers {
		v := bytesOf(h.Value)
		out = append(out, headerJSON{Key: h.Key, Value: v.Text, ValueBase64: v.Base64})
	}
	return out
}

// statusText names the status; a state that cannot be read has no status of its own.
func statusText(s deadletters.Status) string {
	if s == "" {
		return "unreadable"
	}
	return string(s)
}

func timeText(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z07:00") }

// emitter writes JSON values: one after another on lines (ndjson), or as one list (json).
type emitter struct {
	w     io.Writer
	list  bool
	count int
}

func (a *app) emitter() *emitter { return &emitter{w: a.env.Out, list: a.output == "json"} }

func (e *emitter) emit(v any) error {
	text, err := encode(v, "")
	if err != nil {
		return err
	}
	before, after := "", "\n"
	if e.list {
		before, after = "[\n", ""
		if e.count > 0 {
			before = ",\n"
		}
	}
	e.count++
	_, err = io.WriteString(e.w, before+text+after)
	return err
}

// end closes the list.
func (e *emitter) end() error {
	if !e.list {
		return nil
	}
	text := "\n]\n"
	if e.count == 0 {
		text = "[]\n"
	}
	_, err := io.WriteString(e.w, text)
	return err
}

// object writes one value: on one line for ndjson, indented for json.
func (a *app) object(v any) error {
	indent := ""
	if a.output == "json" {
		indent = "  "
	}
	text, err := encode(v, indent)
	if err != nil {
		return err
	}
	_, err = io.WriteString(a.env.Out, text+"\n")
	return err
}

// encode writes a value as JSON. What could steer a terminal is escaped, which leaves the value
// what it is.
func encode(v any, indent string) (string, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	if err := e.Encode(v); err != nil {
		return "", err
	}
	return escapeControls(strings.TrimSuffix(b.String(), "\n")), nil
}

// escapeControls writes control characters beyond those of ASCII as \u escapes.
func escapeControls(text string) string {
	if strings.IndexFunc(text, steers) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if !steers(r) {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}

// steers reports whether a terminal may take r for a command. Line breaks are JSON's own.
func steers(r rune) bool { return r != '\n' && cli.Steers(r) }
