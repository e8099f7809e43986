package sink

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// stage is a temporary table that batches are copied into. It belongs to a session, and is empty after each transaction.
// (That is better than arrays as arguments of the statement: docs/decisions/0032.)
type stage struct {
	name string // quoted, with its schema
	open string // begins a transaction, creates the table if it is missing, and begins to copy
}

// stageFields is the number of a stage's columns before those of the properties.
func (t *table) stageFields() int {
	if t.claims {
		return 8
	}
	return 7
}

// newStage returns the stage of a table. Properties are texts, which the columns' types read. Tables with equally many
// columns share a stage. The sink keeps no state of it: behind a pooler the next transaction may be in another session.
func (t *table) newStage(lockWait time.Duration) stage {
	var columns strings.Builder
	columns.WriteString("k text, number int8, source_offset int8, deleted boolean, content_hash text, source text")
	if t.claims {
		columns.WriteString(", rk text")
	}
	columns.WriteString(", g geometry")
	for i := range t.width() {
		fmt.Fprintf(&columns, ", c%d text", i)
	}
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(columns.String())) // a hash returns no error
	name := fmt.Sprintf("switchback_stage_%08x", sum.Sum32())
	return stage{
		name: "pg_temp." + name,
		open: fmt.Sprintf("begin; select set_config('client_min_messages', 'warning', true), set_config('lock_timeout', '%d', true), %s; "+
			"create temporary table if not exists %s (%s) on commit delete rows; copy pg_temp.%[3]s from stdin (format binary)",
			lockWait.Milliseconds(), setSession(true), name, columns.String()),
	}
}

// width is the number of texts in a row.
func (t *table) width() int {
	if t.rest != "" {
		return len(t.columns) + 1
	}
	return len(t.columns)
}

// transact writes rows in one transaction: it copies them into the stage, and one statement writes them from there.
func (s *Sink) transact(ctx context.Context, known *reading, rows []*Row) (d done, err error) {
	e, _ := s.encoders.Get().(*encoder)
	if e == nil {
		e = &encoder{}
	}
	defer func() {
		if err != nil {
			e.out = nil // a goroutine of the client may still read the data of a failed copy
		}
		s.encoders.Put(e)
	}()
	e.rows(&known.table, rows)
	err = s.db.AcquireFunc(ctx, func(c *pgxpool.Conn) error {
		err := s.exchange(ctx, c.Conn(), known, e.out, known.departing(rows), &d)
		return errors.Join(err, rollback(ctx, c.Conn()))
	})
	return d, err
}

// exchange runs the transaction in two exchanges with the server: the copy, then the statements with the commit.
func (s *Sink) exchange(ctx context.Context, conn *pgx.Conn, known *reading, file []byte, gone []string, d *done) error {
	if _, err := conn.PgConn().CopyFrom(ctx, bytes.NewReader(file), known.stage.open); err != nil {
		return err
	}
	var all pgx.Batch
	all.Queue(known.upsert).QueryRow(func(row pgx.Row) error { return row.Scan(&d.took, &d.deleted) })
	if len(gone) > 0 {
		all.Queue(known.removal, gone)
	}
	all.Queue("commit")
	return conn.SendBatch(ctx, &all).Close()
}

// rollback ends a failed transaction, so that its connection can be used again.
func rollback(ctx context.Context, conn *pgx.Conn) error {
	if conn.IsClosed() || conn.PgConn().TxStatus() == 'I' {
		return nil
	}
	if _, err := conn.Exec(ctx, "rollback"); err != nil {
		return conn.Close(ctx)
	}
	return nil
}
