package dlqindex

import (
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Engine is a database that the index can live in. It is a closed list (see [Engines]).
type Engine string

// The engines.
const (
	SQLite     Engine = "sqlite"
	PostgreSQL Engine = "postgresql"
)

// Engines returns every engine.
func Engines() []Engine { return []Engine{SQLite, PostgreSQL} }

// tablePrefix is where the tables live: PostgreSQL has them in the schema that the source
// document's queries name.
func (e Engine) tablePrefix() string {
	if e == PostgreSQL {
		return "pipeline."
	}
	return ""
}

// sql writes a statement for the engine: tables get their schema, and each ? its number.
func (e Engine) sql(text string) string {
	text = strings.ReplaceAll(text, "@dead_", e.tablePrefix()+"dead_")
	if e != PostgreSQL {
		return text
	}
	var b strings.Builder
	n := 0
	for _, r := range text {
		if r == '?' {
			n++
			b.WriteString("$" + strconv.Itoa(n))
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// timeLayout makes times that sort as text, and that SQLite's own date functions read.
const timeLayout = "2006-01-02T15:04:05.000Z"

// time returns a time as the engine takes it, in whole milliseconds; the zero time is NULL.
func (e Engine) time(t time.Time) any {
	switch {
	case t.IsZero():
		return nil
	case e == PostgreSQL:
		return t.UTC().Truncate(time.Millisecond)
	default:
		return t.UTC().Format(timeLayout)
	}
}

// bound is a time that stored ones, which are whole milliseconds, are compared with: rounded up,
// so that "at or after" and "before" mean the same as with the exact time.
func (e Engine) bound(t time.Time) any {
	if floor := t.Truncate(time.Millisecond); floor.Before(t) {
		t = floor.Add(time.Millisecond)
	}
	return e.time(t)
}

// stamp reads a time as either engine gives it.
type stamp struct{ to *time.Time }

var _ sql.Scanner = stamp{}

// Scan takes NULL for the zero time.
func (s stamp) Scan(from any) error {
	switch v := from.(type) {
	case nil:
		*s.to = time.Time{}
	case time.Time:
		*s.to = v.UTC()
	case string:
		t, err := time.Parse(timeLayout, v)
		if err != nil {
			return fmt.Errorf("read a time of the index: %w", err)
		}
		*s.to = t
	default:
		return fmt.Errorf("read a time of the index: unexpected %T", from)
	}
	return nil
}
