package sink

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/testkit/eventually"
	check "github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/postgis"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// S0-6: a delete waits for another instance that is about to write the key for the first time. It deletes that row,
// although the row did not exist when the statement began.
func TestSink_S0_6_aDeleteSeesWhatItWaitedFor(t *testing.T) {
	b := parallelFixture(t, "")
	known := must.Get(b.read(t.Context()))(t)
	other := &encoder{} // the other instance, between its statement and its commit
	other.rows(&known.table, []*Row{b.row("k", 0, 1, `{"name":"old"}`, point)})
	must.Get(b.db.PgConn().CopyFrom(t.Context(), bytes.NewReader(other.out), known.stage.open))(t)
	b.exec(known.upsert)
	done := make(chan error, 1)
	go func() { done <- b.write(b.row("k", 0, 2, "", point)) }()
	untilBlocked(t, b, 1)
	b.exec("commit")
	must.Do(t, <-done)
	check.Equal(t, b.query("select string_agg(name, ',') from parcels"), "null", "names after the delete")
	s := b.Status()
	check.That(t, s.Deleted == 1, "%+v", s)
}

// untilBlocked waits until this many statements of the sink wait for a lock.
func untilBlocked(t *testing.T, b *fixture, statements int) {
	t.Helper()
	watch := must.Get(pgx.ConnectConfig(t.Context(), b.db.Config()))(t)
	defer func() { _ = watch.Close(context.WithoutCancel(t.Context())) }()
	eventually.Until(t.Context(), t, "statements that wait", func() (bool, string) {
		var waiting int
		err := watch.QueryRow(t.Context(), "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'").Scan(&waiting)
		return waiting >= statements, fmt.Sprint(waiting, err)
	})
}

// S0-6: two instances write a record key for the first time at the same moment. PostgreSQL resolves an upsert's
// conflicts by one index only, so the second instance violates the guard's other unique index. This must not count as
// another key's claim.
func TestSink_S0_6_twoFirstEventsOfOneKey(t *testing.T) {
	t.Parallel()
	b := newFeatureFixture(t)
	first := b.Sink
	b.reopenWithKey(config.SinkKeyFeature)
	// The index that is created first is written first: at that moment both statements have looked for the key, and
	// neither has written it.
	b.exec(`create function stop(text) returns text immutable language plpgsql as $$ begin perform pg_advisory_xact_lock_shared(7); return $1; end $$;
		create index on parcels_switchback (stop(key));
		alter table parcels_switchback drop constraint parcels_switchback_pkey, drop constraint parcels_switchback_row_key_key;
		alter table parcels_switchback add primary key (key);
		alter table parcels_switchback add unique (row_key)`)
	b.exec("select pg_advisory_lock(7)")
	done := make(chan error, 2)
	for i, s := range []*Sink{first, b.Sink} {
		r := b.featureRow("k1", "A", int64(i))
		go func() { done <- s.Write(t.Context(), []*Row{r}) }()
	}
	untilBlocked(t, b, 2)
	b.exec("select pg_advisory_unlock(7)")
	for range 2 {
		check.Do(t, <-done)
	}
	check.Equal(t, b.rowNames(), "A: A of k1 at 1")
}

// repeat calls Repeated and checks the result.
func (b *fixture) repeat(key string, number, offset int64, hash string, want bool) {
	b.t.Helper()
	stale := must.Get(b.Repeated(b.t.Context(), &Repeat{Key: []byte(key), Version: header.Version{Number: number, Offset: offset}, ContentHash: hash, Source: "t/0/9"}))(b.t)
	check.That(b.t, stale == want, "%s, version %d/%d, %s: stale %t", key, number, offset, hash, stale)
}

// rowWithHash returns a row whose content hash is the name.
func (b *fixture) rowWithHash(key string, number, offset int64, name string) *Row {
	r := b.row(key, number, offset, `{"name":"`+name+`"}`, point)
	r.ContentHash = name
	return r
}

// S0-6: A is in the table. B was written, and its answer was lost. When A is repeated, its row is written again, and
// a late B is refused.
func TestSink_S0_6_aRepeatFindsWhatALostAnswerLeft(t *testing.T) {
	b := parallelFixture(t, "")
	name := func(want string) {
		t.Helper()
		check.Equal(t, b.query("select coalesce((select name from parcels where id = 'k'), 'none')"), want)
	}
	b.repeat("k", 0, 1, "A", true) // the key was never written
	b.must(b.rowWithHash("k", 0, 1, "A"))
	b.repeat("k", 0, 3, "A", false)
	b.must(b.rowWithHash("k", 0, 2, "B")) // late: the repeat is newer
	name("A")
	b.must(b.rowWithHash("k", 0, 4, "B"))
	b.repeat("k", 0, 3, "A", false) // and B is newer than that
	name("B")
	b.repeat("k", 0, 5, "A", true)
	b.must(b.rowWithHash("k", 0, 5, "A"))
	name("A")
	b.must(b.row("k", 0, 6, "", "")) // a delete differs from A, as B does
	b.repeat("k", 7, 5, "A", false)
	b.repeat("k", 0, 7, "A", true)
	b.repeat("\xff", 0, 7, "A", true) // not a text: the write refuses it
	b.repeat("\x00", 0, 7, "A", true)
}

// A file that is sent again consists of repeats. They are checked in one request, and each gets its own result.
func TestSink_S0_6_repeatsAreAskedTogether(t *testing.T) {
	b := parallelFixture(t, "")
	var rows []*Row
	for i := range 400 {
		rows = append(rows, b.rowWithHash(string(rune('a'+i%26))+string(rune('a'+i/26)), 0, int64(i), "A"))
	}
	b.must(rows...)
	var all sync.WaitGroup
	for i, r := range rows {
		all.Go(func() {
			hash, want := "A", false
			if i%7 == 0 {
				hash, want = "B", true
			}
			stale, err := b.Repeated(t.Context(), &Repeat{Key: r.Key, Version: header.Version{Offset: 1000 + int64(i)}, ContentHash: hash, Source: "t/0/1"})
			check.That(t, err == nil && stale == want, "%s: stale %t, %v", r.Key, stale, err)
		})
	}
	all.Wait()
	check.Equal(t, b.query("select count(*) from parcels_switchback where source_offset >= 1000"), "342")
}

// A repeat waits for the database like a write.
func TestSink_S3_5_aRepeatIsDeferredWithTheRest(t *testing.T) {
	b := parallelFixture(t, "")
	b.must(b.rowWithHash("k", 0, 1, "A"))
	b.exec("alter table parcels_switchback rename to gone")
	defer b.execAfter("alter table gone rename to parcels_switchback")
	b.table.Store(nil)
	_, err := b.Repeated(t.Context(), &Repeat{Key: []byte("k"), Version: header.Version{Offset: 2}, ContentHash: "A"})
	wantDeferral(t, err, Dependency, "parcels_switchback")
}

// rows returns n new rows of consecutive keys.
func (b *fixture) rows(from, n int, offset int64, name string) []*Row {
	b.t.Helper()
	out := make([]*Row, n)
	for i := range out {
		out[i] = b.row(fmt.Sprintf("k%03d", from+i), 0, offset+int64(i), fmt.Sprintf(`{"name":%q}`, name), point)
	}
	return out
}

// S0-6: the upsert adopts a row that exists in the table and not in the guard. A user's own unique constraint refuses
// only the rows that violate it.
func TestSink_S0_6_rowsThatTheGuardDoesNotKnow(t *testing.T) {
	b := parallelFixture(t, "")
	b.exec("insert into parcels (id, name) values ('k025', 'by hand')")
	b.must(b.rows(20, 10, 20, "new")...)
	check.Equal(t, b.query("select count(*) || name from parcels where id between 'k020' and 'k029' group by name"), "10new")
	b.exec("create unique index on parcels (name) where name like 'only%'")
	answers := b.writeBatch(append(b.rows(40, 1, 40, "only one"), b.rows(41, 2, 41, "only one")...)...)
	failed := 0
	for _, err := range answers {
		if err != nil {
			failed++
			f := classify.Of(err)
			check.That(t, f.Code == classify.CodeDBConstraint, "%s: %v", f.Code, err)
		}
	}
	check.That(t, failed == 2 && b.query("select count(*) from parcels where name = 'only one'") == "1", "answers: %v", answers)
}

// S0-6: every query mode of pgx works, including those for poolers. A failed batch leaves no open transaction.
func TestSink_S0_6_everyQueryModeWrites(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"cache_statement", "cache_describe", "describe_exec", "exec", "simple_protocol"} {
		t.Run(mode, func(t *testing.T) {
			b := parallelFixture(t, ", max_connections: 1")
			b.connectWith(b.dsn + "&default_query_exec_mode=" + mode)
			b.reopen()
			b.must(b.rows(0, 5, 0, "first")...)
			b.must(b.rows(3, 5, 10, "second")...)
			b.must(b.row("k000", 0, 20, "", ""))
			err := b.write(b.row("bad", 0, 21, `{"seen":"never"}`, point))
			check.That(t, classify.Of(err).Code == classify.CodeDBData, "a value that the column refuses: %v", err)
			b.must(b.row("k001", 0, 22, `{"name":"third","tags":["a",{"b":null}]}`, point))
			check.Equal(t, b.query("select string_agg(id || name, ',' order by id) from parcels"), "k001third,k002first,k003second,k004second,k005second,k006second,k007second")
		})
	}
}

// S0-6: an identical row is not written again: no trigger fires, and no dead row is left.
func TestSink_S0_6_aDuplicateTouchesNoRow(t *testing.T) {
	b := parallelFixture(t, "")
	b.must(b.row("a", 0, 1, `{"name":"x","tags":[1]}`, point))
	before := b.query("select xmin || '/' || ctid from parcels")
	b.must(b.row("a", 0, 1, `{"name":"x","tags":[1]}`, point))
	check.Equal(t, b.query("select xmin || '/' || ctid from parcels"), before)
	b.must(b.row("a", 0, 1, `{"name":"X","tags":[1]}`, point)) // the same event, with another result of a later attempt
	check.Equal(t, b.query("select name from parcels"), "X")
}

// S4-3, S0-4: a batch fails as a whole and is divided, until only the bad records fail: values that a column cannot
// store, a violated constraint, and invalid text.
func TestSink_S4_3_S0_4_aBatchIsHalvedUntilTheBadRecordsAreAlone(t *testing.T) {
	b := parallelFixture(t, ", rest_column: rest, max_connections: 1")
	b.exec("alter table parcels add constraint positive check (area > 0)")
	bad := map[int]string{3: `{"seen":"the day before"}`, 40: `{"area":-1}`, 41: `{"area":-2}`, 99: `{"name":"a\u0000b"}`}
	rows := make([]*Row, 100)
	for i := range rows {
		properties := bad[i]
		if properties == "" {
			properties = fmt.Sprintf(`{"name":"n","area":%d}`, i+1)
		}
		rows[i] = b.row(fmt.Sprint("k", i), 0, int64(i), properties, point)
	}
	for i, err := range b.writeBatch(rows...) {
		check.That(t, (err != nil) == (bad[i] != ""), "record %d: %v", i, err)
		f := classify.Of(err)
		check.That(t, err == nil || f.Level == classify.LevelRow && (f.Code == classify.CodeDBData || f.Code == classify.CodeDBConstraint), "record %d is classified as %s, %s: %v", i, f.Code, f.Level, err)
	}
	check.Equal(t, b.query("select count(*) from parcels"), "96")
	s := b.Status()
	check.That(t, s.Batches <= 60, "%d statements for 4 bad records of 100", s.Batches)
}

// All rows of one record are written, or none.
func TestSink_aRecordOfSeveralRowsIsWrittenWholeOrNotAtAll(t *testing.T) {
	b := parallelFixture(t, ", rest_column: rest")
	err := b.write(b.row("a", 0, 1, `{"area":1}`, point), b.row("b", 0, 1, `{"seen":"never"}`, point))
	check.That(t, err != nil && b.query("select count(*) from parcels") == "0" && b.query("select count(*) from parcels_switchback") == "0", "%v, and the table has %s rows", err, b.query("select count(*) from parcels"))
}

// writeShuffled writes each row twice, in random order, with concurrent writers that are spread over the sinks.
func writeShuffled(t *testing.T, rows []*Row, sinks ...*Sink) {
	t.Helper()
	for _, r := range rows {
		again := *r
		rows = append(rows, &again)
	}
	rand.New(rand.NewPCG(testrun.Seed(t), 0)).Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	var wg sync.WaitGroup
	work := make(chan *Row)
	for i := range 32 {
		wg.Go(func() {
			for r := range work {
				check.Do(t, sinks[i%len(sinks)].Write(t.Context(), []*Row{r}))
			}
		})
	}
	for _, r := range rows {
		work <- r
	}
	close(work)
	wg.Wait()
}

// S0-6: concurrent writers of two instances in random order leave the newest row of each key.
func TestSink_S0_6_theNewestWinsWhoeverWritesWhen(t *testing.T) {
	t.Parallel()
	server := postgis.Need(t)
	one := newFixture(t, server, ", max_batch: 20")
	two := one.openSink()
	const keys, versions = 40, 12
	var rows []*Row
	for k := range keys {
		for v := range versions {
			properties := fmt.Sprintf(`{"name":"v%d"}`, v)
			if v == versions-1 && k%4 == 0 {
				properties = "" // deleted at the end
			}
			rows = append(rows, one.row(fmt.Sprint("k", k), int64(v), int64(v), properties, point))
		}
	}
	writeShuffled(t, rows, one.Sink, two)
	check.Equal(t, one.query("select count(*) || ' ' || count(*) filter (where name = 'v11') from parcels"), "30 30", "all rows, and newest rows")
}

// A caller that stops waiting leaves nothing behind that blocks.
func TestSink_aCallerMayGoAway(t *testing.T) {
	b := parallelFixture(t, "")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := b.Write(ctx, []*Row{b.row("a", 0, 1, `{"name":"x"}`, point)})
	check.That(t, err == nil || errors.Is(err, context.Canceled), "%v", err)
	b.must(b.row("b", 0, 1, `{"name":"x"}`, point))
}

// keep_columns are left unchanged, and the key may be a number.
func TestSink_columnsOfOthersAndOtherKeys(t *testing.T) {
	b := parallelFixture(t, ", keep_columns: [note, fid]")
	b.exec("drop table parcels; create table parcels (id bigint primary key, fid int generated by default as identity, note text default 'mine', name text, made text generated always as (upper(name)) stored, geom geography)")
	b.must(b.row("7", 0, 1, `{"id":7,"name":"x"}`, point))
	b.exec("update parcels set note = 'yours'")
	b.must(b.row("7", 0, 2, `{"id":"7","name":"y"}`, point))
	check.Equal(t, b.query("select concat_ws(',', id, fid, note, name, made, st_astext(geom)) from parcels"), "7,1,yours,y,Y,POINT(11.5 48.25)")
	err := b.write(b.row("seven", 0, 3, `{"name":"z"}`, point))
	check.That(t, classify.Of(err).Level == classify.LevelRow, "a key that is not a number: %v", err)
}

// S0-6: two instances write a property into the rest column. After a column for the property was added, both instances
// use it without a restart, and the rest column no longer contains the value.
func TestSink_S0_6_everyInstanceUsesAColumnThatIsAdded(t *testing.T) {
	one := parallelFixture(t, ", rest_column: rest")
	instances := make([]*Sink, 2)
	for i := range instances {
		instances[i] = one.openSink()
		instances[i].refreshAge = 200 * time.Millisecond
	}
	offset := int64(0)
	write := func(ctx context.Context, instance int) {
		offset++
		must.Do(t, instances[instance].Write(ctx, []*Row{one.row(fmt.Sprint("k", instance), 0, offset, fmt.Sprintf(`{"colour":"c%d"}`, offset), point)}))
	}
	for i := range instances {
		write(t.Context(), i)
	}
	one.exec("alter table parcels add column colour text")
	ctx := testrun.Context(t, 30*time.Second)
	for i := range instances {
		eventually.Until(ctx, t, fmt.Sprintf("instance %d to use the column", i), func() (bool, string) {
			write(ctx, i)
			got := one.query(fmt.Sprintf("select concat_ws(' ', colour, rest) from parcels where id = 'k%d'", i))
			return got == fmt.Sprintf("c%d {}", offset), got
		})
	}
}
