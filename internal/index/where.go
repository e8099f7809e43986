package index

import (
	"fmt"
	"strings"

	"github.com/switchback-geo/switchback/internal/deadletters"
)

// Query selects letters of one DLQ.
type Query struct {
	deadletters.Filter

	Gone bool // those that the topic no longer has, instead of those that it has

	// Looked is told how far a query is that has to look at the letters themselves. It may be nil.
	Looked func(done, total int)
}

// condition is a WHERE clause with its arguments.
type condition struct {
	engine Engine
	parts  []string
	args   []any
}

func (c *condition) add(part string, args ...any) {
	c.parts = append(c.parts, part)
	c.args = append(c.args, args...)
}

func (c *condition) text() string { return " WHERE " + strings.Join(c.parts, " AND ") }

// among selects rows whose column has one of the values; none selects all.
func among[T ~string](c *condition, column string, values []T) {
	if len(values) == 0 {
		return
	}
	args := make([]any, len(values))
	for i, v := range values {
		args[i] = string(v)
	}
	c.add(column+" IN "+placeholders(1, len(values)), args...)
}

// asksRows reports whether a query asks for what only the rows can say.
func (q Query) asksRows() bool { return len(q.Features) > 0 || q.NeedsContent() }

// rows says in SQL what [deadletters.Filter.Match] says in Go of features, headers and texts.
func (q Query) rows(c *condition) {
	among(c, "feature_id", q.Features)
	c.headers(q.Headers)
	c.contains(q.Text)
}

// headers selects letters with at least one of the headers. SQLite has them as headersJSON wrote
// them, so that one stands there letter for letter; within a string no quotation mark is bare.
func (c *condition) headers(wanted []deadletters.HeaderMatch) {
	var either []string
	for _, m := range wanted {
		text := `{"k":` + jsonText(m.Name)
		if m.Value != nil {
			text += `,"v":` + jsonText(*m.Value)
		}
		switch {
		case c.engine == PostgreSQL:
			either = append(either, "headers @> CAST(? AS JSONB)")
			text = "[" + text + "}]"
		default:
			either = append(either, "instr(headers, ?) > 0")
		}
		c.args = append(c.args, text)
	}
	if len(either) > 0 {
		c.parts = append(c.parts, "("+strings.Join(either, " OR ")+")")
	}
}

// contains looks for text letter for letter, and in what is not text for its bytes, as
// [deadletters.Filter.Match] does.
func (c *condition) contains(text string) {
	if text == "" {
		return
	}
	inText, inBytes := "instr(%s, ?) > 0", "instr(%s, ?) > 0"
	if c.engine == PostgreSQL {
		inText, inBytes = "strpos(%s, ?) > 0", "position(CAST(? AS BYTEA) IN %s) > 0"
	}
	bytes := []byte(text)
	c.add("("+fmt.Sprintf(inText, "error_message")+" OR "+fmt.Sprintf(inText, "feature_id")+" OR "+fmt.Sprintf(inBytes, "key_bytes")+" OR "+
		"value_bytes IS NULL AND value_size > 0 AND "+fmt.Sprintf(inText, "CAST(raw_record AS TEXT)")+" OR "+fmt.Sprintf(inBytes, "value_bytes")+")",
		text, text, bytes, text, bytes)
}
