package sink

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
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

// S0-6: a delete that waits for another instance, which is about to write the key for the first time, deletes what that one
// wrote: it does not go by what it saw when it began.
func TestSink_S0_6_aDeleteSeesWhatItWaitedFor(t *testing.T) {
	b := beside(t, "")
	known := must.Get(b.read(t.Context()))(t)
	other := &encoder{} // the other instance, between its statement and the end of its transaction
	other.rows(&known.table, []*Row{b.row("k", 0, 1, `{"name":"old"}`, point)})
	must.Get(b.db.PgConn().CopyFrom(t.Context(), bytes.NewReader(other.out), known.stage.open))(t)
	b.exec(known.upsert)
	done := make(chan error, 1)
	go func() { done <- b.write(b.row("k", 0, 2, "", point)) }()
	awaitBlocked(t, b, 1)
	b.exec("commit")
	must.Do(t, <-done)
	check.Equal(t, b.ask("select string_agg(name, ',') from parcels"), "null", "the key was deleted last, and")
	s := b.Status()
	check.That(t, s.Deleted == 1, "%+v", s)
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
		check.Do(t, <-done)
	}
	check.Equal(t, b.names(), "A: A of k1 at 1")
}

// repeat asks about an event that says what took effect last, and wants an answer.
func (b *bench) repeat(key string, number, offset int64, hash string, want bool) {
	b.t.Helper()
	stale := must.Get(b.Repeated(b.t.Context(), &Repeat{Key: []byte(key), Version: header.Version{Number: number, Offset: offset}, ContentHash: hash, Source: "t/0/9"}))(b.t)
	check.That(b.t, stale == want, "%s, version %d/%d, %s: stale %t", key, number, offset, hash, stale)
}

// says is a row with a content hash of its own.
func (b *bench) says(key string, number, offset int64, name string) *Row {
	r := b.row(key, number, offset, `{"name":"`+name+`"}`, point)
	r.ContentHash = name
	return r
}

// S0-6: A is there. B was written and its answer lost. A comes again: its row is written again, and B stays out when it comes late.
func TestSink_S0_6_aRepeatFindsWhatALostAnswerLeft(t *testing.T) {
	b := beside(t, "")
	name := func(want string) {
		t.Helper()
		check.Equal(t, b.ask("select coalesce((select name from parcels where id = 'k'), 'none')"), want)
	}
	b.repeat("k", 0, 1, "A", true) // nothing was ever written
	b.must(b.says("k", 0, 1, "A"))
	b.repeat("k", 0, 3, "A", false)
	b.must(b.says("k", 0, 2, "B")) // late: the repeat lies behind it
	name("A")
	b.must(b.says("k", 0, 4, "B"))
	b.repeat("k", 0, 3, "A", false) // and B behind that
	name("B")
	b.repeat("k", 0, 5, "A", true)
	b.must(b.says("k", 0, 5, "A"))
	name("A")
	b.must(b.row("k", 0, 6, "", "")) // a delete is no other than B
	b.repeat("k", 7, 5, "A", false)
	b.repeat("k", 0, 7, "A", true)
	b.repeat("\xff", 0, 7, "A", true) // no text: the write refuses it
	b.repeat("\x00", 0, 7, "A", true)
}

// A file that is sent again is nothing but repeats: they go to the database together, and each gets its own answer.
func TestSink_S0_6_repeatsAreAskedTogether(t *testing.T) {
	b := beside(t, "")
	var rows []*Row
	for i := range 400 {
		rows = append(rows, b.says(string(rune('a'+i%26))+string(rune('a'+i/26)), 0, int64(i), "A"))
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
	check.Equal(t, b.ask("select count(*) from parcels_switchback where source_offset >= 1000"), "342")
}

// A repeat waits for the database as a write does.
func TestSink_S3_5_aRepeatIsDeferredWithTheRest(t *testing.T) {
	b := beside(t, "")
	b.must(b.says("k", 0, 1, "A"))
	b.exec("alter table parcels_switchback rename to gone")
	defer b.execAfter("alter table gone rename to parcels_switchback")
	b.table.Store(nil)
	_, err := b.Repeated(t.Context(), &Repeat{Key: []byte("k"), Version: header.Version{Offset: 2}, ContentHash: "A"})
	wantHold(t, err, Dependency, "parcels_switchback")
}

// rows are n new states of keys from one on.
func (b *bench) rows(from, n int, offset int64, name string) []*Row {
	b.t.Helper()
	out := make([]*Row, n)
	for i := range out {
		out[i] = b.row(fmt.Sprintf("k%03d", from+i), 0, offset+int64(i), fmt.Sprintf(`{"name":%q}`, name), point)
	}
	return out
}

// S0-6: the upsert takes over a row that the table has and the guard does not. A unique constraint of the team's own refuses only the rows
// that break it, and no other row is lost.
func TestSink_S0_6_rowsThatTheGuardDoesNotKnow(t *testing.T) {
	b := beside(t, "")
	b.exec("insert into parcels (id, name) values ('k025', 'by hand')")
	b.must(b.rows(20, 10, 20, "new")...)
	check.Equal(t, b.ask("select count(*) || name from parcels where id between 'k020' and 'k029' group by name"), "10new")
	b.exec("create unique index on parcels (name) where name like 'only%'")
	answers := b.together(append(b.rows(40, 1, 40, "only one"), b.rows(41, 2, 41, "only one")...)...)
	failed := 0
	for _, err := range answers {
		if err != nil {
			failed++
			f := classify.Of(err)
			check.That(t, f.Code == classify.CodeDBConstraint, "%s: %v", f.Code, err)
		}
	}
	check.That(t, failed == 2 && b.ask("select count(*) from parcels where name = 'only one'") == "1", "answers: %v", answers)
}

// S0-6: every way in which pgx runs statements does, such as those that poolers need. A batch that fails leaves no transaction open.
func TestSink_S0_6_everyQueryModeWrites(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"cache_statement", "cache_describe", "describe_exec", "exec", "simple_protocol"} {
		t.Run(mode, func(t *testing.T) {
			b := beside(t, ", max_connections: 1")
			b.connectsBy(b.dsn + "&default_query_exec_mode=" + mode)
			b.reopen()
			b.must(b.rows(0, 5, 0, "first")...)
			b.must(b.rows(3, 5, 10, "second")...)
			b.must(b.row("k000", 0, 20, "", ""))
			err := b.write(b.row("bad", 0, 21, `{"seen":"never"}`, point))
			check.That(t, classify.Of(err).Code == classify.CodeDBData, "a value that the column refuses: %v", err)
			b.must(b.row("k001", 0, 22, `{"name":"third","tags":["a",{"b":null}]}`, point))
			check.Equal(t, b.ask("select string_agg(id || name, ',' order by id) from parcels"), "k001third,k002first,k003second,k004second,k005second,k006second,k007second")
		})
	}
}

// S0-6: a state that is the same byte by byte is not written again: no trigger fires, no dead row is left.
func TestSink_S0_6_aDuplicateTouchesNoRow(t *testing.T) {
	b := beside(t, "")
	b.must(b.row("a", 0, 1, `{"name":"x","tags":[1]}`, point))
	before := b.ask("select xmin || '/' || ctid from parcels")
	b.must(b.row("a", 0, 1, `{"name":"x","tags":[1]}`, point))
	check.Equal(t, b.ask("select xmin || '/' || ctid from parcels"), before)
	b.must(b.row("a", 0, 1, `{"name":"X","tags":[1]}`, point)) // the same event, made differently by a later attempt
	check.Equal(t, b.ask("select name from parcels"), "X")
}

// S4-3, S0-4: a batch fails as a whole, is halved, and only the bad records fail: by what the column cannot hold, by what the
// table forbids, by what has no column.
func TestSink_S4_3_S0_4_aBatchIsHalvedUntilTheBadRecordsAreAlone(t *testing.T) {
	b := beside(t, ", rest_column: rest, max_connections: 1")
	b.exec("alter table parcels add constraint positive check (area > 0)")
	bad := map[int]string{3: `{"seen":"the day before"}`, 40: `{"area":-1}`, 41: `{"area":-2}`, 99: `{"name":"a\u0000b"}`}
	errs := make([]error, 100)
	batch := make([]*job, 100)
	for i := range batch {
		properties := bad[i]
		if properties == "" {
			properties = fmt.Sprintf(`{"name":"n","area":%d}`, i+1)
		}
		batch[i] = &job{ctx: t.Context(), rows: []*Row{b.row(fmt.Sprint("k", i), 0, int64(i), properties, point)}, done: make(chan error, 1)}
	}
	jobs := append([]*job{}, batch...)
	b.Sink.write(batch)
	for i, j := range jobs {
		errs[i] = <-j.done
	}
	for i, err := range errs {
		check.That(t, (err != nil) == (bad[i] != ""), "record %d: %v", i, err)
		f := classify.Of(err)
		check.That(t, err == nil || f.Level == classify.LevelRow && (f.Code == classify.CodeDBData || f.Code == classify.CodeDBConstraint), "record %d is taken for %s, %s: %v", i, f.Code, f.Level, err)
	}
	check.Equal(t, b.ask("select count(*) from parcels"), "96")
	s := b.Status()
	check.That(t, s.Batches <= 60, "%d statements for 4 bad records of 100", s.Batches)
}

// All rows of one record are written, or none.
func TestSink_aRecordOfSeveralRowsIsWrittenWholeOrNotAtAll(t *testing.T) {
	b := beside(t, ", rest_column: rest")
	err := b.write(b.row("a", 0, 1, `{"area":1}`, point), b.row("b", 0, 1, `{"seen":"never"}`, point))
	check.That(t, err != nil && b.ask("select count(*) from parcels") == "0" && b.ask("select count(*) from parcels_switchback") == "0", "%v, and the table has %s rows", err, b.ask("select count(*) from parcels"))
}

// writeShuffled lets many writers write each row twice, in any order, by one of the sinks.
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

// S0-6: many writers of two instances, in every order, leave the newest state of each key.
func TestSink_S0_6_theNewestWinsWhoeverWritesWhen(t *testing.T) {
	t.Parallel()
	server := postgis.Need(t)
	one := open(t, server, ", max_batch: 20")
	two := one.opened()
	const keys, versions = 40, 12
	var rows []*Row
	for k := range keys {
		for v := range versions {
			properties := fmt.Sprintf(`{"name":"v%d"}`, v)
			if v == versions-1 && k%4 == 0 {
				properties = "" // ends deleted
			}
			rows = append(rows, one.row(fmt.Sprint("k", k), int64(v), int64(v), properties, point))
		}
	}
	writeShuffled(t, rows, one.Sink, two)
	check.Equal(t, one.ask("select count(*) || ' ' || count(*) filter (where name = 'v11') from parcels"), "30 30", "rows, and those in their newest state")
}

// A caller that goes away leaves nothing behind that blocks.
func TestSink_aCallerMayGoAway(t *testing.T) {
	b := beside(t, "")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := b.Write(ctx, []*Row{b.row("a", 0, 1, `{"name":"x"}`, point)})
	check.That(t, err == nil || errors.Is(err, context.Canceled), "%v", err)
	b.must(b.row("b", 0, 1, `{"name":"x"}`, point))
}

// A property that nothing names and that has no column is the record's own failure, and a column that is added is used without a
// restart.
func TestSink_aColumnThatIsAddedIsUsed(t *testing.T) {
	b := beside(t, "")
	b.must(b.row("a", 0, 1, `{"name":"x"}`, point))
	more := b.row("a", 0, 2, `{"name":"x","colour":"red"}`, point)
	err := b.write(more)
	check.That(t, err != nil && classify.Of(err).Code == classify.CodeDBSchema && strings.Contains(err.Error(), `parcels has no column "colour"`), "a property without a column: %v", err)
	b.exec("alter table parcels add column colour text")
	eventually.Until(t.Context(), t, "the new column", func() (bool, string) {
		err := b.write(more)
		return err == nil, fmt.Sprint(err)
	})
	check.Equal(t, b.ask("select colour from parcels"), "red")
}

// Columns of others are left alone, and a key may be a number.
func TestSink_columnsOfOthersAndOtherKeys(t *testing.T) {
	b := beside(t, ", keep_columns: [note, fid]")
	b.exec("drop table parcels; create table parcels (id bigint primary key, fid int generated by default as identity, note text default 'mine', name text, made text generated always as (upper(name)) stored, geom geography)")
	b.must(b.row("7", 0, 1, `{"id":7,"name":"x"}`, point))
	b.exec("update parcels set note = 'yours'")
	b.must(b.row("7", 0, 2, `{"id":"7","name":"y"}`, point))
	check.Equal(t, b.ask("select concat_ws(',', id, fid, note, name, made, st_astext(geom)) from parcels"), "7,1,yours,y,Y,POINT(11.5 48.25)")
	err := b.write(b.row("seven", 0, 3, `{"name":"z"}`, point))
	check.That(t, classify.Of(err).Level == classify.LevelRow, "a key that is no number: %v", err)
}

// S0-6: two instances write a property into the rest column. After somebody adds a column for the property, both instances
// use the column without a restart, and the rest column no longer holds the value.
func TestSink_S0_6_everyInstanceUsesAColumnThatIsAdded(t *testing.T) {
	one := beside(t, ", rest_column: rest")
	instances := make([]*Sink, 2)
	for i := range instances {
		instances[i] = one.opened()
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
			got := one.ask(fmt.Sprintf("select concat_ws(' ', colour, rest) from parcels where id = 'k%d'", i))
			return got == fmt.Sprintf("c%d {}", offset), got
		})
	}
}
