package sink

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/testkit/eventually"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/postgis"
)

// S0-6: a delete that waits for another instance, which is about to write the key for the first time, deletes what that one
// wrote: it does not go by what it saw when it began.
func TestSink_S0_6_aDeleteSeesWhatItWaitedFor(t *testing.T) {
	t.Parallel()
	b := open(t, postgis.Need(t), "")
	known := must.Get(b.read(t.Context()))(t)
	other := &encoder{} // the other instance, between its statement and the end of its transaction
	other.rows(&known.table, []*Row{b.row("k", 0, 1, `{"name":"old"}`, point)})
	must.Get(b.db.PgConn().CopyFrom(t.Context(), bytes.NewReader(other.out), known.stage.open))(t)
	b.exec(known.upsert)
	done := make(chan error, 1)
	go func() { done <- b.write(b.row("k", 0, 2, "", point)) }()
	awaitBlocked(t, b, 1)
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

// awaitBlocked waits until so many statements of the sink wait for a lock.
func awaitBlocked(t *testing.T, b *bench, statements int) {
	t.Helper()
	watch := must.Get(pgx.ConnectConfig(t.Context(), b.db.Config()))(t)
	defer func() { _ = watch.Close(context.WithoutCancel(t.Context())) }()
	eventually.Until(t.Context(), t, "statements that wait", func() (bool, string) {
		var waiting int
		err := watch.QueryRow(t.Context(), "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'").Scan(&waiting)
		return waiting >= statements, fmt.Sprint(waiting, err)
	})
}

// S0-6: two instances write a record key for the first time at the same moment. PostgreSQL decides an upsert by one index only, so the
// other unique index of the guard is what the second one hits: that is no claim of another record key.
func TestSink_S0_6_twoFirstEventsOfOneKey(t *testing.T) {
	t.Parallel()
	b := byFeature(t)
	first := b.Sink
	b.refound(config.SinkKeyFeature)
	// An index that is made first is filled first: both statements have looked for the key by then, and neither has written it.
	b.exec(`create function stop(text) returns text immutable language plpgsql as $$ begin perform pg_advisory_xact_lock_shared(7); return $1; end $$;
		create index on parcels_switchback (stop(key));
		alter table parcels_switchback drop constraint parcels_switchback_pkey, drop constraint parcels_switchback_row_key_key;
		alter table parcels_switchback add primary key (key);
		alter table parcels_switchback add unique (row_key)`)
	b.exec("select pg_advisory_lock(7)")
	done := make(chan error, 2)
	for i, s := range []*Sink{first, b.Sink} {
		r := b.of("k1", "A", int64(i))
		go func() { done <- s.Write(t.Context(), []*Row{r}) }()
	}
	awaitBlocked(t, b, 2)
	b.exec("select pg_advisory_unlock(7)")
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if got := b.names(); got != "A: A of k1 at 1" {
		t.Error(got)
	}
}
