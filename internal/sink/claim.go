package sink

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// If sink.key is not the record key, the guard still has a row for each record key, because only events of one record
// key are ordered. The guard stores which row of the table belongs to the key. So a tombstone finds its row, and a
// feature with a new ID removes its old row. A row belongs to one record key at a time (docs/decisions/0085).

// rowKeyColumn is the guard's column with the row key. Its comment is the rule that finds the rows.
const rowKeyColumn = "row_key"

// escaped begins a guard key that encodes bytes, as PostgreSQL writes them.
const escaped = `\x`

// GuardKey returns the guard's name of a record key, which need not be text. A key that PostgreSQL cannot store
// becomes hexadecimal digits after \x. Different keys have different names.
func GuardKey(recordKey []byte) []byte {
	if FindsRow(recordKey) && !bytes.HasPrefix(recordKey, []byte(escaped)) {
		return recordKey
	}
	return hex.AppendEncode([]byte(escaped), recordKey)
}

// RecordKey is the inverse of [GuardKey].
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

// errClaimed marks a row that belongs to another record key.
var errClaimed = errors.New("the row belongs to another record key")

// claimed converts a failure if the row belongs to another key. The guard's own key cannot be violated: the upsert
// resolves conflicts by it.
func (t *table) claimed(err error) error {
	pgErr, ok := errors.AsType[*pgconn.PgError](err)
	if !ok || !t.claims || pgErr.Code != uniqueViolation || pgErr.TableName != lastOf(t.guardName()) {
		return err
	}
	return classify.WithCode(classify.CodeDBConstraint, classify.StageSink,
		fmt.Errorf("%s: %w: %s; a row becomes free when that key is deleted or moves to another row (%w)", t.name, errClaimed, pgErr.Detail, err))
}

// filledBy returns the comment of a guard's row_key.
func (t *table) filledBy() string { return "sink.key: " + string(t.rule) }

// otherRule returns the mismatch of a table whose rows were found by another sink.key.
func (t *table) otherRule(c column) Mismatch {
	was := "sink.key: " + string(config.SinkKeyRecord)
	if c.Name != "" {
		was = c.Comment
	}
	return Mismatch{Fault: fmt.Sprintf("its key is %q, but the pipeline has %q", was, t.filledBy()), Fix: "stop all instances and run `consumer sink rekey`", Reach: ReachAll}
}

// Finder maps record keys to rows of the table by the rule of sink.key.
type Finder struct {
	Rule config.SinkKey
	// Path reads the guard's name of a record key and its row key from a path into the key. It is called if the rule
	// is a path.
	Path func(ctx context.Context, recordKey []byte) (guard, row []byte, err error)
}

// Find returns the guard's name of a record key and the key of the feature's row. The row key is nil if the record
// key itself finds the row, and for a delete of a feature, whose row key the guard has.
func (f Finder) Find(ctx context.Context, recordKey []byte, feature *transform.Feature) (guard, row []byte, err error) {
	switch {
	case f.Rule == config.SinkKeyRecord:
		return recordKey, nil, nil
	case f.Rule == config.SinkKeyFeature && feature == nil:
		return GuardKey(recordKey), nil, nil
	case f.Rule == config.SinkKeyFeature:
		return GuardKey(recordKey), []byte(feature.IDString()), nil
	}
	guard, row, err = f.Path(ctx, recordKey)
	return guard, row, classify.WithStage(classify.StageSink, err)
}
