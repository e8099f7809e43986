package sink

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/eventually"
	check "github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/postgis"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/pkg/classify"
)

// S4-3, S0-4: a batch fails as a whole, is halved, and only the bad records fail: by what the column cannot hold, by what the
// table forbids, by what has no column.
func TestSink_S4_3_S0_4_aBatchIsHalvedUntilTheBadRecordsAreAlone(t *testing.T) {
	t.Parallel()
	b := open(t, postgis.Need(t), ", rest_column: rest, max_connections: 1")
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
		check.That(t, err == nil || f.Level == classify.LevelRow && (f.Code == classify.CodeDBData || f.Code == classify.CodeDBConstraint),
			"record %d is taken for %s, %s: %v", i, f.Code, f.Level, err)
	}
	check.Equal(t, b.ask("select count(*) from parcels"), "96")
	s := b.Status()
	check.That(t, s.Batches <= 60, "%d statements for 4 bad records of 100", s.Batches)
}

// All rows of one record are written, or none.
func TestSink_aRecordOfSeveralRowsIsWrittenWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	b := open(t, postgis.Need(t), ", rest_column: rest")
	err := b.write(b.row("a", 0, 1, `{"area":1}`, point), b.row("b", 0, 1, `{"seen":"never"}`, point))
	check.That(t, err != nil && b.ask("select count(*) from parcels") == "0" && b.ask("select count(*) from parcels_switchback") == "0",
		"%v, and the table has %s rows", err, b.ask("select count(*) from parcels"))
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
	two := must.Get(Open(one.cfg.Sink.PostGIS, Options{Mapping: one.cfg.Transform, Logger: one.log(), Classify: classify.Of}))(t)
	t.Cleanup(two.Close)
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
	t.Parallel()
	b := open(t, postgis.Need(t), "")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := b.Write(ctx, []*Row{b.row("a", 0, 1, `{"name":"x"}`, point)})
	check.That(t, err == nil || errors.Is(err, context.Canceled), "%v", err)
	b.must(b.row("b", 0, 1, `{"name":"x"}`, point))
}

// A property that nothing names and that has no column is the record's own failure, and a column that is added is used without a
// restart.
func TestSink_aColumnThatIsAddedIsUsed(t *testing.T) {
	t.Parallel()
	b := open(t, postgis.Need(t), "")
	b.must(b.row("a", 0, 1, `{"name":"x"}`, point))
	more := b.row("a", 0, 2, `{"name":"x","colour":"red"}`, point)
	if err := b.write(more); err == nil || classify.Of(err).Code != classify.CodeDBSchema || !strings.Contains(err.Error(), `parcels has no column "colour"`) {
		t.Errorf("a property without a column: %v", err)
	}
	b.exec("alter table parcels add column colour text")
	eventually.Until(t.Context(), t, "the new column", func() (bool, string) {
		err := b.write(more)
		return err == nil, fmt.Sprint(err)
	})
	check.Equal(t, b.ask("select colour from parcels"), "red")
}

// Columns of others are left alone, and a key may be a number.
func TestSink_columnsOfOthersAndOtherKeys(t *testing.T) {
	t.Parallel()
	b := open(t, postgis.Need(t), ", keep_columns: [note]")
	b.exec("drop table parcels; create table parcels (id bigint primary key, note text default 'mine', name text, made text generated always as (upper(name)) stored, geom geography)")
	b.must(b.row("7", 0, 1, `{"id":7,"name":"x"}`, point))
	b.exec("update parcels set note = 'yours'")
	b.must(b.row("7", 0, 2, `{"id":"7","name":"y"}`, point))
	check.Equal(t, b.ask("select concat_ws(',', id, note, name, made, st_astext(geom)) from parcels"), "7,yours,y,Y,POINT(11.5 48.25)")
	err := b.write(b.row("seven", 0, 3, `{"name":"z"}`, point))
	check.That(t, classify.Of(err).Level == classify.LevelRow, "a key that is no number: %v", err)
}

// S0-6: two instances write a property into the rest column. After somebody adds a column for the property, both instances
// use the column without a restart, and the rest column no longer holds the value.
func TestSink_S0_6_everyInstanceUsesAColumnThatIsAdded(t *testing.T) {
	t.Parallel()
	one := open(t, postgis.Need(t), ", rest_column: rest")
	instances := make([]*Sink, 2)
	for i := range instances {
		var err error
		instances[i], err = Open(one.cfg.Sink.PostGIS, Options{Mapping: one.cfg.Transform, Logger: one.log(), Classify: classify.Of, refreshAge: 200 * time.Millisecond})
		must.Do(t, err)
		t.Cleanup(instances[i].Close)
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
	ctx, cancel := context.WithTimeout(t.Context(), testrun.Patient(30*time.Second))
	defer cancel()
	for i := range instances {
		eventually.Until(ctx, t, fmt.Sprintf("instance %d to use the column", i), func() (bool, string) {
			write(ctx, i)
			got := one.ask(fmt.Sprintf("select concat_ws(' ', colour, rest) from parcels where id = 'k%d'", i))
			return got == fmt.Sprintf("c%d {}", offset), got
		})
	}
}
