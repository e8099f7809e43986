package sink

import (
	"fmt"
	"strings"

	"github.com/switchback-geo/switchback/pkg/classify"
)

// Reach is how much of the work a mismatch keeps from being done.
type Reach string

// The reaches.
const (
	// ReachAll: no record can be written. The consumer does not start; while it runs, everything waits.
	ReachAll Reach = "all"
	// ReachSome: records that have what the table lacks cannot be written. The consumer does not start; while it runs, they wait.
	ReachSome Reach = "some"
	// ReachRare is the same for what the mapping allows and may never give. The consumer starts, and says so.
	ReachRare Reach = "rare"
	// ReachNone: everything can be written, some of it not as it is. The consumer says so.
	ReachNone Reach = "none"
)

// Reaches lists every reach, the widest first.
func Reaches() []Reach { return []Reach{ReachAll, ReachSome, ReachRare, ReachNone} }

// Mismatch is one difference between a table and what is to be written into it.
type Mismatch struct {
	Column string // "" for the table itself
	Fault  string
	Fix    string // a statement of SQL, or words where none would do
	Reach  Reach
}

// String gives one line.
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

// refuses says whether the consumer does not start with it.
func (m Mismatch) refuses() bool { return m.Reach == ReachAll || m.Reach == ReachSome }

// TableError says why a table cannot be written. No record is to blame, and none is lost for it: what is to be written waits
// until the table fits.
type TableError struct {
	Table      string
	Mismatches []Mismatch
	Err        error // what the database said, when it was that
}

// Unwrap gives what the database said.
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
