package dlqindex

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/switchback-geo/switchback/internal/deadletters"
)

// Query selects letters of one DLQ.
type Query struct {
	deadletters.Filter

	Gone   bool // letters that the topic no longer has, instead of those that it has
	Newest bool // order by the time of death, the newest first; by default the oldest first

	// Slow is called once if an answer takes longer than a second. It may be nil.
	Slow func()
}

// unfiltered reports whether a query selects all letters. A limit is no filter.
func (q Query) unfiltered() bool {
	q.Limit = 0
	return reflect.ValueOf(q.Filter).IsZero()
}

// counted reports whether a query filters by nothing but the status, by which letters are counted.
func (q Query) counted() bool {
	q.Statuses = nil
	return q.unfiltered()
}

// readAll returns the table for a query that reads all of its rows. If SQLite must read the rows themselves, for texts, headers or features,
// and no index selects them, it scans them in the order of the file: by an index it would look up each row.
func (t *tx) readAll(q Query) string {
	within := q.Text != "" || len(q.Headers)+len(q.Features) > 0
	found := len(q.IDs)+len(q.Groups) > 0 || !q.Since.IsZero() || !q.Until.IsZero()
	if t.engine == SQLite && within && !found {
		return "@dead_letter_queue AS q NOT INDEXED"
	}
	return "@dead_letter_queue AS q"
}

// patience is how long an answer may take before [Query.Slow] is called.
const patience = time.Second

// watch starts to wait for an answer. The caller calls stop when it has the answer; a call of Slow has ended then.
func (q Query) watch() (stop func()) {
	if q.Slow == nil {
		return func() {}
	}
	called := make(chan struct{})
	timer := time.AfterFunc(patience, func() {
		defer close(called)
		q.Slow()
	})
	return func() {
		if !timer.Stop() {
			<-called
		}
	}
}

// condition is a WHERE clause with its arguments. It is about rows q.
type condition struct {
	engine Engine
	parts  []string
	args   []any
}

func (c *condition) add(part string, args ...any) {
	c.parts = append(c.parts, part)
	c.args = append(c.args, args...)
}

func (c *condition) where() string { return " WHERE " + strings.Join(c.parts, " AND ") }

// among selects rows whose column has one of the values; no values select all.
func among[T ~string](c *condition, column string, values []T) {
	switch len(values) {
	case 0:
	case 1:
		c.add("q."+column+" = ?", string(values[0]))
	default:
		args := make([]any, len(values))
		for i, v := range values {
			args[i] = string(v)
		}
		c.add("q."+column+" IN "+placeholders(1, len(values)), args...)
	}
}

// condition returns the condition of a query on its rows. It selects the same letters as [deadletters.Filter.Match].
func (d *DLQ) condition(q Query) *condition {
	c := &condition{engine: d.database.engine}
	c.add("q.dlq = ? AND q.gone = ?", d.number, flag(q.Gone))
	among(c, "id", q.IDs)
	among(c, "group_id", q.Groups)
	among(c, "error_code", q.Codes)
	among(c, "pipeline_name", q.Pipelines)
	among(c, "run_id", q.Runs)
	among(c, "status", q.Statuses)
	among(c, "feature_id", q.Features)
	if !q.Since.IsZero() {
		c.add("q.rejected_at >= ?", c.engine.bound(q.Since))
	}
	if !q.Until.IsZero() {
		c.add("q.rejected_at < ?", c.engine.bound(q.Until))
	}
	c.meets(q.BBox)
	c.headers(q.Headers)
	c.contains(q.Text)
	return c
}

// meets is [deadletters.BBox.Meets] in SQL. Edges that are NULL meet nothing.
func (c *condition) meets(b *deadletters.BBox) {
	if b == nil {
		return
	}
	c.add("q.south <= ? AND q.north >= ?", b.North, b.South)
	if b.Crosses() {
		c.add("(q.west > q.east OR q.east >= ? OR q.west <= ?)", b.West, b.East)
		return
	}
	c.add("(q.west <= q.east AND q.east >= ? AND q.west <= ? OR q.west > q.east AND (q.east >= ? OR q.west <= ?))", b.West, b.East, b.West, b.East)
}

// headers selects letters with at least one of the headers. SQLite compares with the text that headersJSON wrote: within a
// JSON string no quotation mark is bare, so a header stands there letter for letter.
func (c *condition) headers(wanted []deadletters.HeaderMatch) {
	var either []string
	for _, m := range wanted {
		text := `{"k":` + jsonText(m.Name)
		if m.Value != nil {
			text += `,"v":` + jsonText(*m.Value)
		}
		switch {
		case c.engine == PostgreSQL:
			either = append(either, "q.headers @> CAST(? AS JSONB)")
			text = "[" + text + "}]"
		default:
			either = append(either, "instr(q.headers, ?) > 0")
		}
		c.args = append(c.args, text)
	}
	if len(either) > 0 {
		c.parts = append(c.parts, "("+strings.Join(either, " OR ")+")")
	}
}

// contains looks for a text letter for letter, and for its bytes in what is not text.
func (c *condition) contains(text string) {
	if text == "" {
		return
	}
	inText, inBytes := "instr(%s, ?) > 0", "instr(%s, ?) > 0"
	if c.engine == PostgreSQL {
		inText, inBytes = "strpos(%s, ?) > 0", "position(CAST(? AS BYTEA) IN %s) > 0"
	}
	bytes := []byte(text)
	c.add("("+fmt.Sprintf(inText, "q.error_message")+" OR "+fmt.Sprintf(inText, "q.feature_id")+" OR "+fmt.Sprintf(inBytes, "q.key_bytes")+" OR "+
		"q.value_bytes IS NULL AND q.value_size > 0 AND "+fmt.Sprintf(inText, "CAST(q.raw_record AS TEXT)")+" OR "+fmt.Sprintf(inBytes, "q.value_bytes")+")",
		text, text, bytes, text, bytes)
}
