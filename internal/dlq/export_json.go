package dlq

import (
	"encoding/json"
	"io"
	"time"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/pkg/classify"
)

// exported is one dead letter as NDJSON: the content of its record, header by header, and its outcome. Bytes that are
// not text are in base64, under another name.
type exported struct {
	ID          string           `json:"id"`
	Dialect     string           `json:"dialect"`
	DLQ         PositionJSON     `json:"dlq"`
	Source      *PositionJSON    `json:"source"`
	DiedAt      string           `json:"died_at"`
	Status      string           `json:"status"`
	ContentHash string           `json:"content_hash"`
	Error       ErrorJSON        `json:"error"`
	Key         any              `json:"key,omitzero"`
	KeyBase64   string           `json:"key_base64,omitempty"`
	Headers     []exportedHeader `json:"headers"`
	Value       any              `json:"value,omitzero"`
	ValueBase64 string           `json:"value_base64,omitempty"`
	GoneAt      string           `json:"gone_at,omitempty"`
	TooLarge    string           `json:"too_large,omitempty"` // why there is no value
	Pointer     json.RawMessage  `json:"pointer,omitempty"`   // where the original is
}

type exportedHeader struct {
	Key         string `json:"key"`
	Value       any    `json:"value,omitzero"`
	ValueBase64 string `json:"value_base64,omitempty"`
}

// split returns bytes as text, or in base64. No bytes are a null text.
func split(b []byte) (text any, inBase64 string) {
	of := bytesOf(b)
	if of.Base64 != nil {
		return nil, *of.Base64
	}
	return of.Text, ""
}

func exportedOf(l *deadletters.Letter) exported {
	out := exported{
		ID: l.ID, Dialect: string(l.Dialect), DLQ: PositionJSON(l.DLQ), DiedAt: TimeText(l.At), Status: StatusText(l.Status), ContentHash: l.ContentHash,
		Error: newErrorJSON(l), Headers: []exportedHeader{},
	}
	if source, ok := l.Source(); ok {
		out.Source = (*PositionJSON)(&source)
	}
	out.Key, out.KeyBase64 = split(l.Key)
	if !l.Gone.IsZero() {
		out.GoneAt = TimeText(l.Gone)
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

type ndjsonExporter struct{ w io.Writer }

func (e *ndjsonExporter) begin() error { return nil }
func (e *ndjsonExporter) end() error   { return nil }

func (e *ndjsonExporter) letter(l *deadletters.Letter, _ []byte) error {
	encoder := json.NewEncoder(e.w)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(exportedOf(l))
}

// geojsonExporter writes a FeatureCollection. Each feature keeps its members; its properties get one more, dead_letter,
// with its outcome.
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
		ID: l.ID, Status: StatusText(l.Status), DiedAt: l.At.UTC().Format(time.RFC3339), Code: l.Control.ErrorCode, Message: l.Control.ErrorMessage, Group: l.Group,
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

// withProperty adds dead_letter to the properties of a feature, which may have none.
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
