package sink

import (
	"fmt"
	"strings"
	"testing"

	check "github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/postgis"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// together writes records as one batch, and gives what each was answered.
func (b *bench) together(rows ...*Row) []error {
	batch := make([]*job, len(rows))
	for i, r := range rows {
		batch[i] = &job{ctx: b.t.Context(), rows: []*Row{r}, bytes: r.Bytes, done: make(chan error, 1)}
	}
	answers := make([]error, len(rows))
	jobs := append([]*job{}, batch...) // writing a batch may empty it
	b.Sink.write(batch)
	for i, j := range jobs {
		answers[i] = <-j.done
	}
	return answers
}

// S4-3: one record that the database cannot take, whatever number it gives that, does not take the others of its batch along,
// and its failure is its own.
func TestSink_S4_3_oneRecordOfABatchFailsAlone(t *testing.T) {
	t.Parallel()
	server := postgis.Need(t)
	for name, c := range map[string]struct {
		sql, key, properties string
		code                 classify.Code
	}{
		"a key that no index takes (54000)":      {"", unpackable(9000), `{"name":"x"}`, classify.CodeDBData},
		"nested too deep (54001)":                {"", "bad", deep, classify.CodeDBData},
		"a geometry that PostGIS refuses":        {"alter table parcels add check (name is null or st_geomfromtext(name) is not null)", "bad", `{"name":"POINT("}`, classify.CodeDBData},
		"a function's own error (39, 38, F…)":    {"create function f() returns trigger language plpgsql as $$ begin if new.name = 'x' then raise 'no' using errcode = '38000'; end if; return new; end $$; create trigger f before insert on parcels for each row execute function f()", "bad", `{"name":"x"}`, classify.CodeUnknown},
		"an internal error of another extension": {"create function f() returns trigger language plpgsql as $$ begin if new.name = 'x' then raise 'no' using errcode = 'XX000'; end if; return new; end $$; create trigger f before insert on parcels for each row execute function f()", "bad", `{"name":"x"}`, classify.CodeDBInternal},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := open(t, server, "")
			b.exec(c.sql)
			bad := b.row(c.key, 0, 2, c.properties, point)
			if c.properties == deep {
				bad.Feature.SetProperty("tags", nested(20000))
			}
			answers := b.together(b.row("a", 0, 1, `{}`, point), bad, b.row("c", 0, 3, `{}`, point))
			check.That(t, answers[0] == nil && answers[2] == nil && b.ask("select string_agg(id, ',' order by id) from parcels") == "a,c", "the others: %v, %v", answers[0], answers[2])
			f := classify.Of(answers[1])
			check.That(t, answers[1] != nil && f.Code == c.code, "%s, want %s: %v", f.Code, c.code, answers[1])
		})
	}
}

// deep is a feature that gets a value which is nested too deep.
const deep = `{"name":"deep"}`

func nested(levels int) transform.Value {
	v := transform.ArrayValue()
	for range levels {
		v = transform.ArrayValue(v)
	}
	return v
}

// unpackable is a key that does not become smaller.
func unpackable(n int) string {
	var out strings.Builder
	for i := uint64(1); out.Len() < n; i++ {
		fmt.Fprintf(&out, "%x", i*0x9E3779B97F4A7C15)
	}
	return out.String()[:n]
}

// A key that its column would cut is refused: cut, it would be another feature's.
func TestSink_aKeyIsNeverCut(t *testing.T) {
	t.Parallel()
	b := open(t, postgis.Need(t), "")
	b.exec("create domain code as varchar(4); create domain code2 as code")
	for _, kind := range []string{"varchar(4)", "char(4)", "code", "code2"} {
		b.exec("truncate parcels, parcels_switchback; alter table parcels alter id type " + kind)
		b.table.Store(nil)
		b.must(b.row("abcd", 0, 1, `{"name":"whole"}`, point))
		for offset, properties := range []string{`{"name":"longer"}`, ""} {
			err := b.write(b.row("abcde", 0, int64(2+offset), properties, point))
			f := classify.Of(err)
			check.That(t, properties == "" || err != nil && f.Code == classify.CodeDBData, "%s: %s: %v", kind, f.Code, err)
		}
		check.Equal(t, b.ask("select string_agg(id || name, ',') from parcels"), "abcdwhole", kind)
	}
}

// Two spellings of one key, such as 7 and 07 in a column of numbers, in one batch.
func TestSink_spellingsOfAKeyDoNotFailEachOther(t *testing.T) {
	t.Parallel()
	b := open(t, postgis.Need(t), "")
	b.exec("alter table parcels alter id type bigint using id::bigint")
	for i, err := range b.together(b.row("7", 0, 1, `{"name":"x"}`, point), b.row("07", 0, 2, `{"name":"y"}`, point), b.row("8", 0, 3, `{}`, point)) {
		check.That(t, err == nil, "record %d: %v", i, err)
	}
}

// A table that somebody alters while it is written: the next record is written as the table is now, and no record pays for it.
func TestSink_aTableThatIsAlteredIsReadAgain(t *testing.T) {
	t.Parallel()
	b := open(t, postgis.Need(t), "")
	b.must(b.row("a", 0, 1, `{"name":"x"}`, point))
	for i, sql := range []string{
		"alter table parcels drop column area",
		"alter table parcels add column note text",
		"alter table parcels rename to old; create table parcels (like old including all); drop table old",
		"alter table parcels alter geom type geography(Geometry, 4326)",
		"alter table parcels alter name type varchar(10)",
	} {
		b.exec(sql)
		check.Do(t, b.write(b.row("a", 0, int64(2+i), `{"name":"y"}`, point)), "after", sql)
	}
}

// S3-5: a server that takes no writes any more, such as the primary of before a failover, is left: the next connection may
// find the one that does.
func TestSink_S3_5_aConnectionToAStandbyIsGivenUp(t *testing.T) {
	t.Parallel()
	b := open(t, postgis.Need(t), ", max_connections: 1")
	name := b.db.Config().Database
	b.exec("alter database " + name + " set default_transaction_read_only = on")
	err := b.write(b.row("a", 0, 1, `{"name":"x"}`, point))
	f := classify.Of(err)
	must.That(t, err != nil && f.Code == classify.CodeDBUnavailable, "%s: %v", f.Code, err)
	b.exec("alter database " + name + " reset default_transaction_read_only")
	check.Do(t, b.write(b.row("a", 0, 1, `{"name":"x"}`, point)), "the connection of before is used again")
}

// A connection that ends between two statements of a batch leaves all of it or nothing.
func TestSink_S0_6_aConnectionThatIsCutLeavesAllOrNothing(t *testing.T) {
	t.Parallel()
	b := open(t, postgis.Need(t), ", max_connections: 1")
	b.must(b.row("gone", 0, 1, `{"name":"x"}`, point), b.row("kept", 0, 1, `{"name":"x"}`, point))
	b.exec("create function slow() returns trigger language plpgsql as $$ begin perform pg_advisory_xact_lock(1); return old; end $$; create trigger slow before delete on parcels for each row execute function slow()")
	b.exec("select pg_advisory_lock(1)")
	done := make(chan error, 1)
	go func() { done <- b.write(b.row("gone", 0, 2, "", point), b.row("kept", 0, 2, `{"name":"y"}`, point)) }()
	awaitBlocked(t, b, 1)
	b.exec("select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'")
	f := classify.Of(<-done)
	check.That(t, f.Transient(), "%s %v", f.Code, f.Err)
	b.exec("select pg_advisory_unlock(1)")
	check.Equal(t, b.ask("select string_agg(id || name, ',' order by id) from parcels"), "gonex,keptx", "half of it is there")
	b.must(b.row("gone", 0, 2, "", point), b.row("kept", 0, 2, `{"name":"y"}`, point))
	check.Equal(t, b.ask("select string_agg(id || name, ',') from parcels"), "kepty")
}
