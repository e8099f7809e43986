package dlqindex

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// kind is the type of a column, in the words of SQLite and of PostgreSQL.
type kind string

const (
	text    kind = "TEXT/TEXT"
	integer kind = "INTEGER/BIGINT"
	double  kind = "REAL/DOUBLE PRECISION"
	moment  kind = "TEXT/TIMESTAMPTZ" // see timeLayout
	blob    kind = "BLOB/BYTEA"
	asIs    kind = "TEXT/JSON"  // JSON, letter for letter as it was written
	search  kind = "TEXT/JSONB" // JSON that is searched in
)

// in returns the engine's word.
func (k kind) in(e Engine) string {
	sqlite, postgres, _ := strings.Cut(string(k), "/")
	if e == PostgreSQL {
		return postgres
	}
	return sqlite
}

// row is one letter as the table has it.
type row struct {
	deadletters.Letter
	dlq          int64  // number of its DLQ in dead_letter_source
	raw          string // raw_record
	bytes        []byte // value_bytes
	gone         bool
	headers      string            // those that a filter can name, as JSON
	box          *deadletters.BBox // of the feature, if its header can be read
	problems     string            // one a line
	editOf       string            // position of the record that its record is an edit of
	stateDLQ     string            // position of the record that its state is about
	stateProblem string            // why its state cannot be read
}

// column is one column of dead_letter_queue: its type, what is written of a letter, and where a value that is read goes.
type column struct {
	name string
	kind kind
	rest string                     // what follows the type
	get  func(e Engine, r *row) any // nil if the state of a letter writes it
	set  func(r *row) any           // nil if it is not read
}

// columns lists the table's columns: first those of S4-6 in the order of the source document.
func columns() []column { return append(documentColumns(), ownColumns()...) }

func documentColumns() []column {
	return []column{
		{"id", text, "NOT NULL", func(_ Engine, r *row) any { return plain(r.ID) }, func(r *row) any { return &r.ID }},
		{"pipeline_name", text, "NOT NULL", func(_ Engine, r *row) any { return plain(r.Control.Pipeline) }, func(r *row) any { return &r.Control.Pipeline }},
		{"run_id", text, "NOT NULL", func(_ Engine, r *row) any { return plain(r.Control.RunID) }, func(r *row) any { return &r.Control.RunID }},
		{"error_type", text, "NOT NULL", func(_ Engine, r *row) any { return errorType(&r.Letter) }, nil},
		{"error_message", text, "NOT NULL", func(_ Engine, r *row) any { return plain(r.Control.ErrorMessage) }, func(r *row) any { return &r.Control.ErrorMessage }},
		{"raw_record", asIs, "NOT NULL", func(_ Engine, r *row) any { return r.raw }, nil},
		{"source_table", text, "", func(_ Engine, r *row) any { return orNull(r.Control.Source.Topic) }, func(r *row) any { return optional[string]{&r.Control.Source.Topic} }},
		{"source_key", text, "", func(_ Engine, r *row) any { return sourceKey(&r.Letter) }, nil},
		{"rejected_at", moment, "NOT NULL", func(e Engine, r *row) any { return e.time(r.At) }, func(r *row) any { return stamp{&r.At} }},
		{"reprocess_count", integer, "NOT NULL DEFAULT 0", nil, func(r *row) any { return &r.State.ReprocessCount }},
		{"last_reprocess", moment, "", nil, nil},
		{"status", text, "NOT NULL DEFAULT 'pending'", nil, func(r *row) any { return &r.Status }},
		{"resolution_note", text, "", nil, func(r *row) any { return optional[string]{&r.State.Reason} }},
	}
}

func ownColumns() []column {
	return []column{
		{"dlq", integer, "NOT NULL", func(_ Engine, r *row) any { return r.dlq }, nil},
		{"gone", integer, "NOT NULL DEFAULT 0", nil, func(r *row) any { return &r.gone }},
		{"group_id", text, "NOT NULL", func(_ Engine, r *row) any { return r.Group }, func(r *row) any { return &r.Group }},
		{"dlq_partition", integer, "NOT NULL", func(_ Engine, r *row) any { return int64(r.DLQ.Partition) }, func(r *row) any { return &r.DLQ.Partition }},
		{"dlq_offset", integer, "NOT NULL", func(_ Engine, r *row) any { return r.DLQ.Offset }, func(r *row) any { return &r.DLQ.Offset }},
		{"dialect", text, "NOT NULL", func(_ Engine, r *row) any { return string(r.Dialect) }, func(r *row) any { return &r.Dialect }},
		{"error_class", text, "NOT NULL", func(_ Engine, r *row) any { return plain(r.Control.ErrorClass) }, func(r *row) any { return &r.Control.ErrorClass }},
		{"error_code", text, "NOT NULL", func(_ Engine, r *row) any { return plain(r.Control.ErrorCode) }, func(r *row) any { return &r.Control.ErrorCode }},
		{"error_stage", text, "NOT NULL", func(_ Engine, r *row) any { return plain(r.Control.ErrorStage) }, func(r *row) any { return &r.Control.ErrorStage }},
		{"cause_class", text, "NOT NULL", func(_ Engine, r *row) any { return plain(r.CauseClass) }, func(r *row) any { return &r.CauseClass }},
		{"caused_by", text, "NOT NULL", func(_ Engine, r *row) any { return plain(r.CausedBy) }, func(r *row) any { return &r.CausedBy }},
		{"feature_id", text, "NOT NULL", func(_ Engine, r *row) any { return plain(r.Control.FeatureID) }, func(r *row) any { return &r.Control.FeatureID }},
		{"content_hash", text, "NOT NULL", func(_ Engine, r *row) any { return plain(r.ContentHash) }, func(r *row) any { return &r.ContentHash }},
		{"source_partition", integer, "", func(_ Engine, r *row) any { return known(r, int64(r.Control.Source.Partition)) }, func(r *row) any { return optional[int32]{&r.Control.Source.Partition} }},
		{"source_offset", integer, "", func(_ Engine, r *row) any { return known(r, r.Control.Source.Offset) }, func(r *row) any { return noted[int64]{&r.Control.Source.Offset, &r.Control.HasSource} }},
		{"source_at", moment, "", func(e Engine, r *row) any { return e.time(r.Control.SourceTimestamp) }, func(r *row) any { return stamp{&r.Control.SourceTimestamp} }},
		{"attempts", integer, "NOT NULL", func(_ Engine, r *row) any { return int64(r.Control.Attempt) }, func(r *row) any { return &r.Control.Attempt }},
		{"max_attempts", integer, "NOT NULL", func(_ Engine, r *row) any { return int64(r.Control.MaxAttempts) }, func(r *row) any { return &r.Control.MaxAttempts }},
		{deathsColumn, integer, "NOT NULL", func(_ Engine, r *row) any { return int64(r.Deaths) }, func(r *row) any { return &r.Deaths }},
		{firstColumn, moment, "NOT NULL", func(e Engine, r *row) any { return e.time(r.At) }, func(r *row) any { return stamp{&r.FirstAt} }}, // see [entry.after]
		{"replay_count", integer, "NOT NULL", func(_ Engine, r *row) any { return int64(r.Control.ReplayCount) }, func(r *row) any { return &r.Control.ReplayCount }},
		{"replay_of", text, "", func(_ Engine, r *row) any { return orNull(r.Control.ReplayID) }, func(r *row) any { return optional[string]{&r.Control.ReplayID} }},
		{"pointer", asIs, "", func(_ Engine, r *row) any { return textOrNull(pointerText(r.Pointer)) }, func(r *row) any { return parsed[header.Pointer]{&r.Pointer, parsePointer} }},
		{"too_large", text, "", func(_ Engine, r *row) any { return orNull(r.TooLarge) }, func(r *row) any { return optional[string]{&r.TooLarge} }},
		{"last_offset", integer, "NOT NULL", func(_ Engine, r *row) any { return r.Last }, func(r *row) any { return &r.Last }},
		{"edit_of", text, "", func(_ Engine, r *row) any { return editOf(&r.Letter) }, func(r *row) any { return optional[string]{&r.editOf} }},
		{"key_bytes", blob, "", func(_ Engine, r *row) any { return bytesOrNull(r.Key) }, func(r *row) any { return &r.Key }},
		{"value_bytes", blob, "", func(_ Engine, r *row) any { return bytesOrNull(r.bytes) }, nil}, // where raw_record is not the value itself
		{"value_size", integer, "NOT NULL", func(_ Engine, r *row) any { return int64(r.Size) }, func(r *row) any { return &r.Size }},
		{"bbox", text, "NOT NULL", func(_ Engine, r *row) any { return plain(r.Control.BBox) }, func(r *row) any { return &r.Control.BBox }},
		{"west", double, "", func(_ Engine, r *row) any { return edge(r, func(b *deadletters.BBox) float64 { return b.West }) }, nil},
		{"south", double, "", func(_ Engine, r *row) any { return edge(r, func(b *deadletters.BBox) float64 { return b.South }) }, nil},
		{"east", double, "", func(_ Engine, r *row) any { return edge(r, func(b *deadletters.BBox) float64 { return b.East }) }, nil},
		{"north", double, "", func(_ Engine, r *row) any { return edge(r, func(b *deadletters.BBox) float64 { return b.North }) }, nil},
		{"headers", search, "NOT NULL", func(_ Engine, r *row) any { return r.headers }, nil},
		{"error_request", search, "", func(_ Engine, r *row) any { return textOrNull(requestText(r.Control.ErrorRequest)) }, func(r *row) any { return parsed[classify.Request]{&r.Control.ErrorRequest, classify.ParseRequest} }},
		{"error_response", search, "", func(_ Engine, r *row) any { return textOrNull(responseText(r.Control.ErrorResponse)) }, func(r *row) any { return parsed[classify.Response]{&r.Control.ErrorResponse, classify.ParseResponse} }},
		{"problems", text, "NOT NULL", func(_ Engine, r *row) any { return plain(strings.Join(r.Problems, "\n")) }, func(r *row) any { return &r.problems }},
		{"replay_id", text, "", nil, func(r *row) any { return optional[string]{&r.State.ReplayID} }},
		{"state_at", moment, "", nil, func(r *row) any { return stamp{&r.State.At} }},
		{"state_by", text, "", nil, func(r *row) any { return optional[string]{&r.State.By} }},
		{"state_dlq", text, "", nil, func(r *row) any { return optional[string]{&r.stateDLQ} }},
		{"state_to", text, "", nil, func(r *row) any { return optional[string]{&r.State.Destination} }},
		{"state_problem", text, "", nil, func(r *row) any { return optional[string]{&r.stateProblem} }},
		{"gone_at", moment, "", nil, func(r *row) any { return stamp{&r.Gone} }},
	}
}

// Columns that are written anew when a letter dies again (see [entry.after]).
const (
	deathsColumn = "deaths"
	firstColumn  = "first_rejected_at" // time of the first death
)

func written(c column) bool { return c.get != nil }
func isRead(c column) bool  { return c.set != nil }

// writtenColumns lists the columns that are written of a letter.
func writtenColumns() []column { return kept(written) }

// readColumns lists the columns that a letter is read from.
func readColumns() []column { return kept(isRead) }

func kept(keep func(column) bool) []column {
	return slices.DeleteFunc(columns(), func(c column) bool { return !keep(c) })
}

// names returns the names of columns, separated by commas.
func names(cols []column) string { return strings.Join(nameList(cols), ", ") }

func nameList(cols []column) []string {
	out := make([]string, len(cols))
	for i := range cols {
		out[i] = cols[i].name
	}
	return out
}

// targets returns where the columns that are read go.
func (r *row) targets(cols []column) []any {
	out := make([]any, len(cols), len(cols)+1)
	for i := range cols {
		out[i] = cols[i].set(r)
	}
	return out
}

// values returns what is written of a letter.
func (r *row) values(e Engine, cols []column) []any {
	out := make([]any, len(cols))
	for i := range cols {
		out[i] = cols[i].get(e, r)
	}
	return out
}

// finish returns the letter of a row that was read.
func (r *row) finish(topic string) deadletters.Letter {
	l := r.Letter
	l.DLQ.Topic = topic
	l.Control.DeadLetterID = l.ID
	if r.editOf != "" {
		l.EditOf, _ = header.ParsePosition(r.editOf) // it was one when it was written
	}
	if r.stateDLQ != "" {
		l.State.DLQ, _ = header.ParsePosition(r.stateDLQ) // it was one when it was written
		l.State.Writer = deadletters.WriterOf(l.State.DLQ)
	}
	for _, problem := range []string{r.problems, r.stateProblem} {
		if problem != "" {
			l.Problems = append(l.Problems, strings.Split(problem, "\n")...)
		}
	}
	if l.Status == unreadable {
		l.Status = ""
	}
	l.State.ID, l.State.Status, l.State.ContentHash = l.ID, l.Status, l.ContentHash
	return l
}

// optional receives a column that may be NULL, which is the zero value.
type optional[T any] struct{ to *T }

// Scan implements [sql.Scanner].
func (o optional[T]) Scan(from any) error {
	var n sql.Null[T]
	if err := n.Scan(from); err != nil {
		return fmt.Errorf("read a column of the index: %w", err)
	}
	*o.to = n.V
	return nil
}

// noted is an optional that stores whether the column had a value: other software may name the topic of a record alone.
type noted[T any] struct {
	to  *T
	has *bool
}

// Scan implements [sql.Scanner].
func (n noted[T]) Scan(from any) error {
	*n.has = from != nil
	return optional[T]{n.to}.Scan(from)
}

// parsed receives a column with a JSON object, or NULL.
type parsed[T any] struct {
	to    **T
	parse func(string) (*T, error)
}

// Scan implements [sql.Scanner].
func (p parsed[T]) Scan(from any) error {
	var n sql.Null[string]
	err := n.Scan(from)
	if *p.to = nil; err == nil && n.Valid {
		*p.to, err = p.parse(n.V)
	}
	if err != nil {
		return fmt.Errorf("read a column of the index: %w", err)
	}
	return nil
}
