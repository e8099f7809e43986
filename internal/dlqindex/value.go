package dlqindex

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

const (
	unreadable  = deadletters.Status("unreadable") // the status in the table if the state record cannot be read
	maxDepth    = 500                              // of raw_record; PostgreSQL reads JSON by recursion
	zeroByte    = "\x00"                           // what PostgreSQL's text cannot hold
	replacement = "\uFFFD"
)

// plain returns text without characters that an engine cannot store.
func plain(s string) string {
	if strings.Contains(s, zeroByte) {
		s = strings.ReplaceAll(s, zeroByte, replacement)
	}
	return strings.ToValidUTF8(s, replacement)
}

func isPlain(b []byte) bool { return utf8.Valid(b) && bytes.IndexByte(b, 0) < 0 }

// errorType returns the error type in the words of the source document (validation, transform, schema) if one fits, else the stage. For
// letters of other software it is foreign.
func errorType(l *deadletters.Letter) string {
	switch stage := classify.Stage(l.Control.ErrorStage); stage {
	case classify.StageHeader, classify.StageGate, classify.StageValidate:
		return "validation"
	case classify.StageDecode:
		return "schema"
	case "":
		if l.Dialect != deadletters.Native {
			return "foreign"
		}
		return "unknown"
	default:
		return plain(string(stage))
	}
}

// maxSourceKey bounds source_key in bytes: PostgreSQL refuses rows with large values in its index.
const maxSourceKey = 1024

// sourceKey returns the key of a record as text, else the id of its feature. A long one is cut; key_bytes has all of it.
func sourceKey(l *deadletters.Letter) any {
	switch {
	case l.Key != nil && isPlain(l.Key):
		return header.Cut(string(l.Key), maxSourceKey)
	case l.Key != nil:
		return header.Cut(base64.StdEncoding.EncodeToString(l.Key), maxSourceKey)
	case l.Control.FeatureID != "":
		return header.Cut(plain(l.Control.FeatureID), maxSourceKey)
	}
	return nil
}

// editOf returns the position of the record that a letter's record is an edit of; NULL for an original.
func editOf(l *deadletters.Letter) any {
	if !l.Edited() {
		return nil
	}
	return plain(l.EditOf.String())
}

// known returns NULL for a letter whose source position is unknown, else v.
func known[T any](r *row, v T) any {
	if !r.Control.HasSource {
		return nil
	}
	return v
}

// edge returns an edge of the bounding box; NULL without one.
func edge(r *row, of func(*deadletters.BBox) float64) any {
	if r.box == nil {
		return nil
	}
	return of(r.box)
}

// requestText returns a request as JSON that every engine can store; "" without one.
func requestText(r *classify.Request) string {
	if r == nil {
		return ""
	}
	return r.Text()
}

// responseText is requestText for a response.
func responseText(r *classify.Response) string {
	if r == nil {
		return ""
	}
	return r.Text()
}

func textOrNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func bytesOrNull(b []byte) any {
	if b == nil {
		return nil
	}
	return b
}

// rawRecordOf is rawRecord for a letter. If the letter has no value, raw is an object with the reason or the pointer.
func rawRecordOf(l *deadletters.Letter) (raw string, notItself []byte) {
	switch {
	case l.TooLarge != "":
		return `{"too_large":` + jsonText(plain(l.TooLarge)) + `}`, notNull(l.Searched())
	case l.Pointer != nil:
		return `{"pointer":` + pointerText(l.Pointer) + `}`, notNull(l.Searched())
	}
	return rawRecord(l.Content.Value)
}

func notNull(b []byte) []byte { return append([]byte{}, b...) }

// pointerText returns a pointer as JSON; "" without one.
func pointerText(p *header.Pointer) string {
	if p == nil {
		return ""
	}
	return string(p.Append(nil)[0].Value)
}

// parsePointer decodes the text of pointerText.
func parsePointer(text string) (*header.Pointer, error) {
	p, _, err := header.ParsePointer([]kgo.RecordHeader{{Key: header.KeyPointer, Value: []byte(text)}})
	return &p, err
}

// rawRecord returns a value as JSON: unchanged if it is JSON, as a string if it is other text, as {"base64": "…"} if it is not text, and
// null for a tombstone. If raw is not the value itself, notItself has its bytes, in which texts are searched.
func rawRecord(value []byte) (raw string, notItself []byte) {
	switch {
	case value == nil:
		return "null", nil
	case !isPlain(value):
		return `{"base64":"` + base64.StdEncoding.EncodeToString(value) + `"}`, value
	case json.Valid(value) && depth(value) <= maxDepth:
		return string(value), nil
	default:
		return jsonText(string(value)), value
	}
}

// depth returns how deep valid JSON is nested, or an upper bound that is at most maxDepth.
func depth(value []byte) int {
	if opened := bytes.Count(value, []byte{'{'}) + bytes.Count(value, []byte{'['}); opened <= maxDepth {
		return opened
	}
	deepest, now, quoted := 0, 0, false
	for i := 0; i < len(value); i++ {
		switch c := value[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			now++
			deepest = max(deepest, now)
		case c == '}' || c == ']':
			now--
		}
	}
	return deepest
}

// jsonText returns text, or headers, as JSON.
func jsonText[T string | []searched](v T) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic("dlqindex: text as JSON: " + err.Error()) // there is no such text
	}
	return string(text)
}

// searched is a header that a filter can name. A value that is not text is in Bytes; From has the beginning of one that is longer than a
// filter can name.
type searched struct {
	Name  string  `json:"k"`
	Value *string `json:"v,omitempty"`
	Bytes []byte  `json:"b,omitempty"`
	From  string  `json:"from,omitempty"`
}

// headersJSON returns the headers that a filter can name, in their order, as a list of [searched].
func headersJSON(content *deadletters.Content) string {
	list := []searched{}
	for _, h := range content.Headers {
		if !deadletters.Searchable(h.Key) {
			continue
		}
		one, value := searched{Name: plain(h.Key)}, string(h.Value[:min(len(h.Value), deadletters.MaxHeaderValue)])
		switch {
		case !isPlain(h.Value):
			one.Bytes = []byte(value)
		case len(h.Value) > deadletters.MaxHeaderValue:
			one.From = plain(value)
		default:
			one.Value = &value
		}
		list = append(list, one)
	}
	return jsonText(list)
}
