package sink

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/switchback-geo/switchback/internal/testkit/eventually"
	"github.com/switchback-geo/switchback/internal/testkit/postgis"
)

// S0-6: a delete that waits for another instance, which is about to write the key for the first time, deletes what that one
// wrote: it does not go by what it saw when it began.
func TestSink_S0_6_aDeleteSeesWhatItWaitedFor(t *testing.T) {
	t.Parallel()
	b := open(t, postgis.Need(t), "")
	known, err := b.read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	other := &encoder{} // the other instance, between its statement and the end of its transaction
	other.rows(&known.table, []*Row{b.row("k", 0, 1, `{"name":"old"}`, point)})
	if _, err := b.db.PgConn().CopyFrom(t.Context(), bytes.NewReader(other.out), known.stage.open); err != nil {
		t.Fatal(err)
	}
	b.exec(known.upsert)
	done := make(chan error, 1)
	go func() { done <- b.write(b.row("k", 0, 2, "", point)) }()
	awaitBlocked(t, b)
	b.exec("commit")
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if got := b.ask("select string_agg(name, ',') from parcels"); got != "null" {
		t.Errorf("the key was deleted last, and the table has %q", got)
	}
	if s := b.Status(); s.Deleted != 1 {
		t.Errorf("%+v", s)
	}
}

// awaitBlocked waits until a statement of the sink waits for a lock.
func awaitBlocked(t *testing.T, b *bench) {
	t.Helper()
	watch, err := pgx.ConnectConfig(t.Context(), b.db.Config())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = watch.Close(context.WithoutCancel(t.Context())) }()
	eventually.Until(t.Context(), t, "a statement that waits", func() (bool, string) {
		var waiting int
		err := watch.QueryRow(t.Context(), "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'").Scan(&waiting)
		return waiting > 0, fmt.Sprint(waiting, err)
	})
}
