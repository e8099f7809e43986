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

// where says in SQL what [deadletters.Filter.Match] says in Go.
func (q Query) where(e Engine, dlq int64) *condition {
	gone := 0
	if q.Gone {
		gone = 1
	}
	c := &condition{engine: e}
	c.add("dlq = ? AND gone = ?", dlq, gone)
	among(c, "id", q.IDs)
	among(c, "error_code", q.Codes)
	among(c, "group_id", q.Groups)
	among(c, "status", q.Statuses)
	among(c, "feature_id", q.Features)
	among(c, "pipeline_name", q.Pipelines)
	among(c, "run_id", q.Runs)
	if !q.Since.IsZero() {
		c.add("rejected_at >= ?", e.bound(q.Since))
	}
	if !q.Until.IsZero() {
		c.add("rejected_at < ?", e.bound(q.Until))
	}
	c.meets(q.BBox)
	c.headers(q.Headers)
	c.contains(q.Text)
	return c
}

// meets is [deadletters.BBox.Meets]: stored rectangles may go over the antimeridian too.
func (c *condition) meets(box *deadletters.BBox) {
	if box == nil {
		return
	}
	c.add("south <= ? AND north >= ?", box.North, box.South)
	if box.Crosses() {
		c.add("(west > east OR west <= ? OR east >= ?)", box.East, box.West)
		return
	}
	c.add("(west <= east AND west <= ? AND east >= ? OR west > east AND (west <= ? OR east >= ?))",
		box.East, box.West, box.East, box.West)
}

// headers selects letters with at least one of the headers.
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
			c.args = append(c.args, "["+text+"}]")
		case m.Value == nil:
			either = append(either, "EXISTS (SELECT 1 FROM json_each(headers) AS h WHERE h.value ->> 'k' = ?)")
			c.args = append(c.args, m.Name)
		default:
			either = append(either, "EXISTS (SELECT 1 FROM json_each(headers) AS h WHERE h.value ->> 'k' = ? AND h.value ->> 'v' = ?)")
			c.args = append(c.args, m.Name, *m.Value)
		}
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
