package sink

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/switchback-geo/switchback/internal/config"

	"github.com/switchback-geo/switchback/pkg/classify"
)

// With another sink.key than the record key the guard still has a row for each record key, since only events of one record key
// have an order. It says which row of the table the key has: so a tombstone finds its row, and a feature whose id changes takes its
// old row away. A row belongs to one record key at a time (docs/decisions/0085).

// rowKeyColumn is the column of the guard that says so. Its comment is the rule by which the rows are found.
const rowKeyColumn = "row_key"

// escaped begins a guard key that stands for bytes, as PostgreSQL writes them.
const escaped = `\x`

// GuardKey is how the guard names a record key that need not be text: one that PostgreSQL cannot hold is written as hexadecimal
// digits behind \x. No two keys have one name.
func GuardKey(recordKey []byte) []byte {
	if FindsRow(recordKey) && !bytes.HasPrefix(recordKey, []byte(escaped)) {
		return recordKey
	}
	return hex.AppendEncode([]byte(escaped), recordKey)
}

// RecordKey is the record key that the guard names so, see [GuardKey].
func RecordKey(guardKey []byte) ([]byte, error) {
	digits, is := bytes.CutPrefix(guardKey, []byte(escaped))
	if !is {
		return guardKey, nil
	}
	key, err := hex.AppendDecode(nil, digits)
	if err != nil {
		return nil, fmt.Errorf("key %q of the guard: %w", guardKey, err)
	}
	return key, nil
}

// uniqueViolation is the SQLSTATE of a duplicate key (PostgreSQL's manual, appendix A).
const uniqueViolation = "23505"

// claimError is a row that another record key has.
type claimError struct {
	table, row string
	err        error
}

// Error says which row, and what may be done.
func (e *claimError) Error() string {
	return fmt.Sprintf("%s: the row is that of another record key: %s; a row is given up when that key is deleted or takes another row", e.table, e.row)
}

// Unwrap gives the database's error.
func (e *claimError) Unwrap() error { return e.err }

// FailureCode is that of a rule of the table that the row breaks.
func (e *claimError) FailureCode() classify.Code { return classify.CodeDBConstraint }

// FailureStage is that of the sink.
func (e *claimError) FailureStage() classify.Stage { return classify.StageSink }

func isClaim(err error) bool {
	_, is := errors.AsType[*claimError](err)
	return is
}

// claimed says of a failure that a row has another owner. The guard's own key cannot be violated: the upsert is decided by it.
func (t *table) claimed(err error) error {
	said, ok := errors.AsType[*pgconn.PgError](err)
	if !ok || !t.claims || said.Code != uniqueViolation || said.TableName != lastOf(t.guardName()) {
		return err
	}
	return &claimError{table: t.name, row: said.Detail, err: err}
}

// filledBy is the comment of a guard's row_key.
func (t *table) filledBy() string { return "sink.key: " + string(t.rule) }

// otherRule is a table whose rows were found by another sink.key.
func (t *table) otherRule(c column) Mismatch {
	was := "sink.key: " + string(config.SinkKeyRecord)
	if c.Name != "" {
		was = c.Comment
	}
	return Mismatch{Fault: fmt.Sprintf("its rows are found by %q, and the pipeline has %q", was, t.filledBy()), Fix: "stop all instances and run `consumer sink rekey`", Reach: ReachAll}
}
