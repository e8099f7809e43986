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

// tablePrefix returns the schema of the tables: in PostgreSQL the one that the queries of the source document name.
func (e Engine) tablePrefix() string {
	if e == PostgreSQL {
		return "pipeline."
	}
	return ""
}

// sql returns a statement for the engine: tables get their schema, and each ? its number.
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

// timeLayout is the form of times in SQLite. They sort as text, and SQLite's date functions read them.
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

// bound returns a time that stored times are compared with. It is rounded up to whole milliseconds, as which times are
// stored, so that "at or after" and "before" mean the same as with the exact time.
func (e Engine) bound(t time.Time) any {
	if floor := t.Truncate(time.Millisecond); floor.Before(t) {
		t = floor.Add(time.Millisecond)
	}
	return e.time(t)
}

// stamp receives a time from either engine.
type stamp struct{ to *time.Time }

var _ sql.Scanner = stamp{}

// Scan reads NULL as the zero time.
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
