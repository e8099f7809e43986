package dlq

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"time"
	"unicode/utf8"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/pkg/classify"
)

// timeLayout is that of all times that the replayer prints.
const timeLayout = "2006-01-02T15:04:05.000Z07:00"

// exported is one letter as NDJSON: what stands in its record, header by header, and what became
// of it. Bytes that are no text are in base64, under another name.
type exported struct {
	ID          string           `json:"id"`
	Dialect     string           `json:"dialect"`
	DLQ         place            `json:"dlq"`
	Source      *place           `json:"source"`
	DiedAt      string           `json:"died_at"`
	Status      string           `json:"status"`
	ContentHash string           `json:"content_hash"`
	Error       exportedError    `json:"error"`
	Key         any              `json:"key,omitzero"`
	KeyBase64   string           `json:"key_base64,omitempty"`
	Headers     []exportedHeader `json:"headers"`
	Value       any              `json:"value,omitzero"`
	ValueBase64 string           `json:"value_base64,omitempty"`
	GoneAt      string           `json:"gone_at,omitempty"`
	TooLarge    string           `json:"too_large,omitempty"` // why there is no value
	Pointer     json.RawMessage  `json:"pointer,omitempty"`   // where the original lies
}

type place struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Offset    int64  `json:"offset"`
}

type exportedError struct {
	Class      string `json:"class"`
	Code       string `json:"code"`
	Stage      string `json:"stage"`
	Message    string `json:"message"`
	CauseClass string `json:"cause_class"`

	Request  *classify.Request  `json:"request,omitempty"`  // what was asked of another system
	Response *classify.Response `json:"response,omitempty"` // what it answered
}

type exportedHeader struct {
	Key         string `json:"key"`
	Value       any    `json:"value,omitzero"`
	ValueBase64 string `json:"value_base64,omitempty"`
}

// split gives bytes as text, or in base64. No bytes at all are a null among the texts.
func split(b []byte) (text any, inBase64 string) {
	switch {
	case b == nil:
		return (*string)(nil), ""
	case utf8.Valid(b):
		return string(b), ""
	default:
		return nil, base64.StdEncoding.EncodeToString(b)
	}
}

func exportedOf(l *deadletters.Letter) exported {
	c := &l.Control
	out := exported{
		ID: l.ID, Dialect: string(l.Dialect), DLQ: place(l.DLQ), DiedAt: l.At.UTC().Format(timeLayout), Status: statusWord(l.Status), ContentHash: l.ContentHash,
		Error: exportedError{
			Class: c.ErrorClass, Code: c.ErrorCode, Stage: c.ErrorStage, Message: c.ErrorMessage, CauseClass: l.CauseClass,
			Request: c.ErrorRequest, Response: c.ErrorResponse,
		},
		Headers: []exportedHeader{},
	}
	if source, ok := l.Source(); ok {
		out.Source = (*place)(&source)
	}
	out.Key, out.KeyBase64 = split(l.Key)
	if !l.Gone.IsZero() {
		out.GoneAt = l.Gone.UTC().Format(timeLayout)
	}
	if l.Content == nil {
		return out
	}
	if out.TooLarge = l.TooLarge; l.Pointer != nil {
		out.Pointer = l.Pointer.Append(nil)[0].Value
	}
	if l.HoldsValue() {
		out.Value, out.ValueBase64 = split(l.Content.Value)
	}
	for _, h := range l.Content.Headers {
		header := exportedHeader{Key: h.Key}
		header.Value, header.ValueBase64 = split(h.Value)
		out.Headers = append(out.Headers, header)
	}
	return out
}

// statusWord names the status; a state that cannot be read has no status of its own.
func statusWord(s deadletters.Status) string {
	if s == "" {
		return "unreadable"
	}
	return string(s)
}

type ndjsonExporter struct{ w io.Writer }

func (e *ndjsonExporter) begin() error { return nil }
func (e *ndjsonExporter) end() error   { return nil }

func (e *ndjsonExporter) letter(l *deadletters.Letter, _ []byte) error {
	encoder := json.NewEncoder(e.w)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(exportedOf(l))
}

// geojsonExporter writes a FeatureCollection. Each feature keeps its members; its properties get
// one more, dead_letter, which says what became of it.
type geojsonExporter struct {
	w    io.Writer
	some bool
}

func (e *geojsonExporter) begin() error {
	_, err := io.WriteString(e.w, `{"type":"FeatureCollection","features":[`)
	return err
}

func (e *geojsonExporter) end() error {
	_, err := io.WriteString(e.w, "\n]}\n")
	return err
}

type deadLetterProperty struct {
	ID      string `json:"id"`
	Status  string `json:"status"`
	DiedAt  string `json:"died_at"`
	Code    string `json:"code"`
	Message string `json:"message"`
	Group   string `json:"group"`
	Source  string `json:"source,omitempty"`

	Request  *classify.Request  `json:"request,omitempty"`
	Response *classify.Response `json:"response,omitempty"`
}

func (e *geojsonExporter) letter(l *deadletters.Letter, feature []byte) error {
	about := deadLetterProperty{
		ID: l.ID, Status: statusWord(l.Status), DiedAt: l.At.UTC().Format(time.RFC3339), Code: l.Control.ErrorCode, Message: l.Control.ErrorMessage, Group: l.Group,
		Request: l.Control.ErrorRequest, Response: l.Control.ErrorResponse,
	}
	if source, ok := l.Source(); ok {
		about.Source = source.String()
	}
	text, err := withProperty(feature, about)
	if err != nil {
		return err
	}
	before := ",\n"
	if !e.some {
		before, e.some = "\n", true
	}
	_, err = io.WriteString(e.w, before+string(text))
	return err
}

// withProperty adds dead_letter to the properties of a feature, which may be none.
func withProperty(feature []byte, about deadLetterProperty) ([]byte, error) {
	members := map[string]json.RawMessage{"type": json.RawMessage(`"Feature"`), "geometry": json.RawMessage("null")}
	properties := map[string]json.RawMessage{}
	if feature != nil {
		if err := json.Unmarshal(feature, &members); err != nil {
			return nil, err
		}
		if err := json.Unmarshal(members["properties"], &properties); err != nil && len(members["properties"]) > 0 {
			return nil, err
		}
		if properties == nil {
			properties = map[string]json.RawMessage{}
		}
	}
	text, err := json.Marshal(about)
	if err != nil {
		return nil, err
	}
	properties["dead_letter"] = text
	if members["properties"], err = json.Marshal(properties); err != nil {
		return nil, err
	}
	return json.Marshal(members)
}
