package index

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/pkg/classify"
)

const (
	unreadable  = deadletters.Status("unreadable") // in the table, of a state record that cannot be read
	maxDepth    = 500                              // of raw_record; PostgreSQL reads JSON by recursion
	maxHeader   = 1024                             // bytes of a header's value that are kept
	zeroByte    = "\x00"                           // what PostgreSQL's text cannot hold
	replacement = "\uFFFD"
)

// plain is text that every engine can hold.
func plain(s string) string {
	if strings.Contains(s, zeroByte) {
		s = strings.ReplaceAll(s, zeroByte, replacement)
	}
	return strings.ToValidUTF8(s, replacement)
}

func isPlain(b []byte) bool { return utf8.Valid(b) && !strings.Contains(string(b), zeroByte) }

// errorType gives the words of the source document (validation, transform, schema) where they
// fit; another stage stands for itself, and other software's letters are foreign.
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

// sourceKey is what a person looks a record up by: its key, else the id of its feature.
func sourceKey(l *deadletters.Letter) any {
	switch {
	case l.Key != nil && isPlain(l.Key):
		return string(l.Key)
	case l.Key != nil:
		return base64.StdEncoding.EncodeToString(l.Key)
	case l.Control.FeatureID != "":
		return plain(l.Control.FeatureID)
	}
	return nil
}

// editOf is the position of the record that a letter's record is an edit of; NULL for an original.
func editOf(l *deadletters.Letter) any {
	if !l.Edited() {
		return nil
	}
	return plain(l.EditOf.String())
}

// known gives NULL for a letter whose first position nobody knows.
func known[T any](r *row, v T) any {
	if !r.Control.HasSource {
		return nil
	}
	return v
}

func edge(r *row, of func(deadletters.BBox) float64) any {
	box, err := deadletters.ParseBBox(r.Control.BBox)
	if err != nil {
		return nil
	}
	return of(box)
}

// rawRecord gives the value as JSON: letter for letter where it is JSON, a string where it is
// other text, {"base64": "…"} where it is none, and null for a tombstone.
func rawRecord(value []byte) string {
	switch {
	case value == nil:
		return "null"
	case !isPlain(value):
		return `{"base64":"` + base64.StdEncoding.EncodeToString(value) + `"}`
	case json.Valid(value) && depth(value) <= maxDepth:
		return string(value)
	default:
		return jsonText(string(value))
	}
}

// depth is how deep valid JSON is nested.
func depth(value []byte) int {
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

func jsonText(s string) string {
	text, err := json.Marshal(s)
	if err != nil {
		panic("index: a string as JSON: " + err.Error()) // there is no such string
	}
	return string(text)
}

// headersJSON gives the headers that a filter can name as [{"k":name,"v":value}], in their order;
// a value that is no text stands under "b" in base64.
func headersJSON(content *deadletters.Content) string {
	var b strings.Builder
	b.WriteByte('[')
	for _, h := range content.Headers {
		if !deadletters.Searchable(h.Key) {
			continue
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		b.WriteString(`{"k":` + jsonText(plain(h.Key)))
		value := h.Value[:min(len(h.Value), maxHeader)]
		if isPlain(value) {
			b.WriteString(`,"v":` + jsonText(string(value)) + "}")
		} else {
			b.WriteString(`,"b":"` + base64.StdEncoding.EncodeToString(value) + `"}`)
		}
	}
	b.WriteByte(']')
	return b.String()
}
