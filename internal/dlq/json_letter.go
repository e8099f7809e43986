package dlq

import (
	"encoding/base64"
	"encoding/json"
	"time"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/dialects"
	"github.com/switchback-geo/switchback/internal/replay/dryrun"
	"github.com/switchback-geo/switchback/internal/replay/plan"
	"github.com/switchback-geo/switchback/pkg/classify"
)

// The JSON types are a contract: scripts read what the command line prints, and browsers what is served. Both use these
// types.

// PositionJSON is the position of a record.
type PositionJSON struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Offset    int64  `json:"offset"`
}

// ErrorJSON is the cause of a dead letter's death.
type ErrorJSON struct {
	Class      string `json:"class"`
	Code       string `json:"code"`
	Stage      string `json:"stage"`
	Message    string `json:"message"`
	CauseClass string `json:"cause_class"`         // of other software's exceptions; empty for our own dead letters
	CausedBy   string `json:"caused_by,omitempty"` // class and message of the innermost exception

	Request  *classify.Request  `json:"request,omitempty"`  // the request to another system
	Response *classify.Response `json:"response,omitempty"` // its answer
}

func newErrorJSON(l *deadletters.Letter) ErrorJSON {
	c := &l.Control
	return ErrorJSON{
		Class: c.ErrorClass, Code: c.ErrorCode, Stage: c.ErrorStage, Message: c.ErrorMessage, CauseClass: l.CauseClass, CausedBy: l.CausedBy,
		Request: c.ErrorRequest, Response: c.ErrorResponse,
	}
}

// bytesJSON is text, or base64 if the bytes are not text; both are null for no bytes.
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

// LetterJSON is a dead letter with its content.
type LetterJSON struct {
	ID             string        `json:"id"`
	Dialect        string        `json:"dialect"`
	DLQ            PositionJSON  `json:"dlq"`
	Source         *PositionJSON `json:"source"`
	SourceTopic    string        `json:"source_topic,omitempty"` // as in EntryJSON
	Key            *string       `json:"key"`
	KeyBase64      *string       `json:"key_base64,omitempty"`
	Error          ErrorJSON     `json:"error"`
	Status         string        `json:"status"`
	ContentHash    string        `json:"content_hash"`
	Group          string        `json:"group"`
	DiedAt         string        `json:"died_at"`
	SourceTime     string        `json:"source_timestamp,omitempty"`
	FeatureID      string        `json:"feature_id,omitempty"`
	Part           string        `json:"part,omitempty"` // the part of the record at source, such as 17/230, from 0
	Attempts       int           `json:"attempts"`
	Deaths         int           `json:"deaths"`
	ReprocessCount int           `json:"reprocess_count"`
	GoneAt         string        `json:"gone_at,omitempty"`
	Problems       []string      `json:"problems,omitempty"`
	Value          *string       `json:"value"`
	ValueBase64    *string       `json:"value_base64,omitempty"`

	TooLarge string          `json:"too_large,omitempty"` // the reason why there is no value, although the record is not a tombstone
	Pointer  json.RawMessage `json:"pointer,omitempty"`   // where the original is, if the record only points at it
	Bytes    int             `json:"bytes,omitempty"`     // of the original value, with too_large or pointer
}

// EntryJSON is one line of list: these fields and no others, whatever the DLQ's dialect. Bytes that are not text are in
// base64 under another name.
type EntryJSON struct {
	ID          string         `json:"id"`
	Dialect     string         `json:"dialect"`
	DLQ         PositionJSON   `json:"dlq"`
	Source      *PositionJSON  `json:"source"`
	SourceTopic string         `json:"source_topic,omitempty"` // if nothing else of the source is known
	Key         any            `json:"key,omitzero"`
	KeyBase64   *string        `json:"key_base64,omitempty"`
	Error       EntryErrorJSON `json:"error"`
	Status      string         `json:"status"`
	ContentHash string         `json:"content_hash"`
	Value       any            `json:"value,omitzero"`
	ValueBase64 *string        `json:"value_base64,omitempty"`

	TooLarge string          `json:"too_large,omitempty"` // as in LetterJSON
	Pointer  json.RawMessage `json:"pointer,omitempty"`
	Bytes    int             `json:"bytes,omitempty"`
}

// EntryErrorJSON is the error in the line.
type EntryErrorJSON struct {
	Class      string `json:"class"`
	Code       string `json:"code"`
	Message    string `json:"message"`
	CauseClass string `json:"cause_class"`
}

// NewEntryJSON returns the line of a dead letter; without its content it has no value.
func NewEntryJSON(l deadletters.Letter) EntryJSON {
	full := NewLetterJSON(l)
	out := EntryJSON{
		ID: full.ID, Dialect: full.Dialect, DLQ: full.DLQ, Source: full.Source, SourceTopic: full.SourceTopic, KeyBase64: full.KeyBase64,
		Error:  EntryErrorJSON{Class: full.Error.Class, Code: full.Error.Code, Message: full.Error.Message, CauseClass: full.Error.CauseClass},
		Status: full.Status, ContentHash: full.ContentHash, ValueBase64: full.ValueBase64,
	}
	if full.KeyBase64 == nil {
		out.Key = full.Key // null if there is none
	}
	out.TooLarge, out.Pointer, out.Bytes = full.TooLarge, full.Pointer, full.Bytes
	if full.ValueBase64 == nil && l.Content != nil && l.HoldsValue() {
		out.Value = full.Value // null for a tombstone
	}
	return out
}

// NewLetterJSON returns the JSON of a dead letter with its content.
func NewLetterJSON(l deadletters.Letter) LetterJSON {
	key := bytesOf(l.Key)
	out := LetterJSON{
		ID: l.ID, Dialect: string(l.Dialect), DLQ: PositionJSON(l.DLQ), Key: key.Text, KeyBase64: key.Base64,
		Error:  newErrorJSON(&l),
		Status: StatusText(l.Status), ContentHash: l.ContentHash, Group: l.Group, DiedAt: TimeText(l.At),
		FeatureID: l.Control.FeatureID, Part: l.Control.Part.String(), Attempts: l.Control.Attempt, Deaths: l.Deaths,
		ReprocessCount: l.State.ReprocessCount, Problems: l.Problems,
	}
	if source, ok := l.Source(); ok {
		out.Source = (*PositionJSON)(&source)
	} else {
		out.SourceTopic = source.Topic
	}
	if at := l.Control.SourceTimestamp; !at.IsZero() {
		out.SourceTime = TimeText(at)
	}
	if !l.Gone.IsZero() {
		out.GoneAt = TimeText(l.Gone)
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

// HeaderJSON is one header of a record.
type HeaderJSON struct {
	Key         string  `json:"key"`
	Value       *string `json:"value"`
	ValueBase64 *string `json:"value_base64,omitempty"`
	Number      *int64  `json:"number,omitempty"` // of a framework's binary number
}

func headersOf(headers []kgo.RecordHeader) []HeaderJSON {
	out := make([]HeaderJSON, 0, len(headers))
	for _, h := range headers {
		v := bytesOf(h.Value)
		shown := HeaderJSON{Key: h.Key, Value: v.Text, ValueBase64: v.Base64}
		if n, ok := dialects.NumberIn(h); ok {
			shown.Number = &n
		}
		out = append(out, shown)
	}
	return out
}

// StatusText returns the name of the status; an unreadable state has its own.
func StatusText(s deadletters.Status) string {
	if s == "" {
		return "unreadable"
	}
	return string(s)
}

// TimeText formats a time as in all answers: RFC 3339, UTC, milliseconds.
func TimeText(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z07:00") }

// DetailJSON is everything about one dead letter.
type DetailJSON struct {
	LetterJSON
	State       *deadletters.State `json:"state"`
	Headers     []HeaderJSON       `json:"headers"`
	Feature     json.RawMessage    `json:"feature"`
	Repaired    json.RawMessage    `json:"repaired,omitempty"`   // the feature with its geometry as today's transform repairs it; absent if it does not repair it
	Text        json.RawMessage    `json:"value_text,omitempty"` // of a DLQ without a pipeline: an Avro value as JSON
	DecodeError string             `json:"decode_error,omitempty"`
	Today       *plan.Verdict      `json:"today"`             // null for a dead letter that is gone, and without a pipeline
	Refused     *dryrun.Refused    `json:"refused,omitempty"` // of today, if that is a value or a place
	// Deployed has the results of running instances' mappings that differ from the one of the pipeline file.
	Deployed      []dryrun.DeployedVerdict `json:"deployed,omitempty"`
	DeployedError string                   `json:"deployed_error,omitempty"` // why that is not known
	Hops          []audit.Event            `json:"hops"`
	HopsError     string                   `json:"hops_error,omitempty"`
	Kept          string                   `json:"kept,omitempty"`          // of a dead letter that is gone: raw_record of the index
	ValueMissing  string                   `json:"value_missing,omitempty"` // the reason why there is no value, and why today is null
}

// NewDetailJSON converts a detail.
func NewDetailJSON(d Detail) DetailJSON {
	out := DetailJSON{LetterJSON: NewLetterJSON(d.Letter), Headers: []HeaderJSON{}, Feature: d.Feature, Repaired: d.Repaired, Text: d.Text, Refused: d.Refused, Deployed: d.Deployed, Hops: d.Hops, Kept: d.Kept, ValueMissing: d.ValueMissing}
	if d.DeployedErr != nil {
		out.DeployedError = d.DeployedErr.Error()
	}
	if out.Hops == nil {
		out.Hops = []audit.Event{}
	}
	if d.HopsErr != nil {
		out.HopsError = d.HopsErr.Error()
	}
	if d.Letter.Content != nil {
		out.Headers = headersOf(d.Letter.Content.Headers)
	}
	if d.Letter.Content != nil && d.ValueMissing == "" && !d.Unasked {
		out.Today = &d.Verdict
	}
	if !d.Letter.State.At.IsZero() {
		out.State = &d.Letter.State
	}
	if d.Decode != nil {
		out.DecodeError = d.Decode.Error()
	}
	return out
}
