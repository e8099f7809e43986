package sink

import (
	"fmt"
	"strings"

	"github.com/switchback-geo/switchback/pkg/classify"
)

// Reach is how much work a mismatch prevents.
type Reach string

// The reaches.
const (
	// ReachAll: no record can be written. The consumer does not start; while it runs, everything waits.
	ReachAll Reach = "all"
	// ReachSome: records with a value that the table lacks cannot be written. The consumer does not start; while it
	// runs, they wait.
	ReachSome Reach = "some"
	// ReachRare is the same for a value that the mapping allows and may never produce. The consumer starts, and logs it.
	ReachRare Reach = "rare"
	// ReachNone: everything can be written, some of it changed. The consumer logs it.
	ReachNone Reach = "none"
)

// Reaches lists every reach, the widest first.
func Reaches() []Reach { return []Reach{ReachAll, ReachSome, ReachRare, ReachNone} }

// Mismatch is one difference between a table and what will be written to it.
type Mismatch struct {
	Column string // "" for the table itself
	Fault  string
	Fix    string // an SQL statement, or words if no statement would do
	Reach  Reach
}

// String returns one line.
func (m Mismatch) String() string {
	text := m.Fault
	if m.Column != "" {
		text = fmt.Sprintf("column %q %s", m.Column, m.Fault)
	}
	if m.Fix != "" {
		text += ": " + m.Fix
	}
	return text
}

// refuses reports whether the consumer does not start with it.
func (m Mismatch) refuses() bool { return m.Reach == ReachAll || m.Reach == ReachSome }

// TableError is why a table cannot be written. No record is at fault, and none is lost for it: writes wait until the
// table fits.
type TableError struct {
	Table      string
	Mismatches []Mismatch
	Err        error // the database's error, if there is one
}

// Unwrap returns the database's error.
func (e *TableError) Unwrap() error { return e.Err }

// Error lists every mismatch with what fixes it.
func (e *TableError) Error() string {
	if len(e.Mismatches) == 1 {
		return fmt.Sprintf("sink.postgis: table %s does not fit: %s", e.Table, e.Mismatches[0])
	}
	lines := make([]string, len(e.Mismatches))
	for i, m := range e.Mismatches {
		lines[i] = "\n  " + m.String()
	}
	return fmt.Sprintf("sink.postgis: table %s does not fit:%s", e.Table, strings.Join(lines, ""))
}

// FailureCode makes it a failure of the table and not of a record.
func (e *TableError) FailureCode() classify.Code { return classify.CodeDBSchema }

// FailureStage is that of the sink.
func (e *TableError) FailureStage() classify.Stage { return classify.StageSink }
