package sink

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/switchback-geo/switchback/internal/config"
	check "github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/postgis"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// ensure runs it, and expects so many statements.
func (b *bench) ensure(execute bool, statements int) Ensured {
	b.t.Helper()
	done := must.Get(Ensure(b.t.Context(), b.cfg, execute))(b.t)
	check.That(b.t, len(done.Statements) == statements, "%d statements, want %d:\n%s", len(done.Statements), statements, strings.Join(done.Statements, "\n"))
	return done
}

// S0-6: from an empty database to a table that fits, once; what is printed is what is run.
func TestEnsure_S0_6_makesTheTable(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*config.Config)
		typ    string
	}{
		"heights kept":     {func(*config.Config) {}, "geometry"},
		"heights required": {dimension(transform.DimensionRequireZ), "geometry(GeometryZ,4326)"},
		"by a path":        {func(c *config.Config) { c.Sink.Key = "key.id" }, "geometry"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := open(t, postgis.Need(t), ", rest_column: rest")
			b.exec("drop table parcels, parcels_switchback; drop extension postgis")
			b.cfg.Transform.Fields[0].From = `the owner's \ name`
			c.change(b.cfg)
			printed := b.ensure(false, 10)
			got := b.ask("select count(*) from pg_tables where tablename like 'parcels%'")
			must.That(t, got == "0", "the dry run made %s tables", got)
			made := b.ensure(true, 10)
			check.That(t, strings.Join(printed.Statements, "\n") == strings.Join(made.Statements, "\n") && len(made.Left) == 0,
				"printed %v\nmade %v\nleft %v", printed.Statements, made.Statements, made.Left)
			b.ensure(true, 0)
			for sql, want := range map[string]string{
				"select format_type(atttypid, atttypmod) from pg_attribute where attrelid = 'parcels'::regclass and attname = 'geom'":             c.typ,
				"select count(*) from pg_indexes where tablename = 'parcels' and indexdef like '%gist (geom)%'":                                   "1",
				"select col_description('parcels'::regclass, attnum) from pg_attribute where attrelid = 'parcels'::regclass and attname = 'name'": `Switchback: from property the owner's \ name, string`,
				"select obj_description('parcels'::regclass) like 'Switchback: % of pipeline parcels, found by %'":                                "true",
			} {
				check.Equal(t, b.ask(sql), want, sql)
			}
			b.refound(b.cfg.Sink.Key)
			notes, err := b.Prepare(t.Context())
			check.That(t, err == nil && len(notes) == 0, "%v, %v", notes, err)
		})
	}
}

// S0-6: a table of somebody else gets the columns that it has not, and an index; nothing that is there is changed, and what differs is said.
func TestEnsure_S0_6_addsWhatATableHasNot(t *testing.T) {
	t.Parallel()
	b := open(t, postgis.Need(t), ", keep_columns: [note]")
	b.exec("drop table parcels, parcels_switchback; create table parcels (id text primary key, note text, name text, area text, geom geometry(Geometry, 25832)); " +
		"comment on column parcels.name is 'ours'; insert into parcels (id, note) values ('k', 'mine')")
	before := b.ask("select string_agg(attname || format_type(atttypid, atttypmod), ' ' order by attnum) from pg_attribute where attrelid = 'parcels'::regclass and attnum > 0")
	dry := b.ensure(false, 6) // two columns and their comments, the guard, the index
	done := b.ensure(true, 6)
	check.That(t, (len(dry.Left) == 0 || dry.Left[0].Column == "geom") && len(done.Left) == 1 && done.Left[0].Column == "geom" && strings.Contains(done.Left[0].Fix, "st_transform"),
		"left %v, %v", dry.Left, done.Left)
	after := b.ask("select string_agg(attname || format_type(atttypid, atttypmod), ' ' order by attnum) from pg_attribute where attrelid = 'parcels'::regclass and attnum > 0")
	check.That(t, after == before+" seentimestamp with time zone tagsjsonb", "%s became %s", before, after)
	check.Equal(t, b.ask("select note || ' ' || col_description('parcels'::regclass, 3) from parcels"), "mine ours")
	b.ensure(true, 0)
}

// Many at once make one table.
func TestEnsure_S0_6_isRepeatedAtWill(t *testing.T) {
	t.Parallel()
	b := open(t, postgis.Need(t), "")
	b.exec("drop table parcels, parcels_switchback")
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			_, err := Ensure(t.Context(), b.cfg, true)
			check.That(t, err == nil, "%v", err)
		})
	}
	all.Wait()
	b.ensure(true, 0)
}

// S4-3: who may not create is told which statement the database refuses, and nothing is made.
func TestEnsure_S4_3_namesThePrivilege(t *testing.T) {
	t.Parallel()
	b := open(t, postgis.Need(t), "")
	role := b.role("select")
	b.exec("drop table parcels_switchback; alter table parcels drop column area")
	b = b.as(role)
	_, err := Ensure(t.Context(), b.cfg, true)
	check.That(t, err != nil && strings.Contains(err.Error(), "nothing was made") && strings.Contains(err.Error(), `add column if not exists "area"`) && strings.Contains(err.Error(), "owner of parcels"),
		"%v", err)
	check.Equal(t, b.ask("select to_regclass('parcels_switchback')"), "null")
}

// S0-6: the statements that ensure prints can be run on the table that is there: a partitioned one takes no index concurrently.
func TestEnsure_S0_6_partitionedTables(t *testing.T) {
	t.Parallel()
	server := postgis.Need(t)
	const columns = "(id text primary key, geom geometry, name text, area float8, seen timestamptz, tags jsonb)"
	for name, c := range map[string]struct {
		sql, index string
	}{
		"by hash":         {"create table parcels " + columns + " partition by hash (id); create table p0 partition of parcels for values with (modulus 2, remainder 0); create table p1 partition of parcels for values with (modulus 2, remainder 1)", `create index if not exists`},
		"by range":        {"create table parcels " + columns + " partition by range (id); create table p0 partition of parcels for values from ('a') to ('m'); create table p1 partition of parcels default", `create index if not exists`},
		"by list":         {"create table parcels " + columns + " partition by list (id); create table p0 partition of parcels default", `create index if not exists`},
		"in two steps":    {"create table parcels " + columns + " partition by range (id); create table p0 partition of parcels default partition by hash (id); create table p00 partition of p0 for values with (modulus 1, remainder 0)", `create index if not exists`},
		"one of them":     {"create table whole " + columns + " partition by range (id); create table parcels partition of whole default", `create index concurrently if not exists`},
		"an ordinary one": {"create table parcels " + columns, `create index concurrently if not exists`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := open(t, server, "")
			b.exec("drop table parcels, parcels_switchback; " + c.sql + "; insert into parcels (id) values ('b'), ('x')")
			dry, err := Ensure(t.Context(), b.cfg, false)
			must.That(t, err == nil && strings.HasPrefix(dry.Statements[len(dry.Statements)-1], c.index), "%q, %v", dry.Statements, err)
			must.Get(Ensure(t.Context(), b.cfg, true))(t)
			b.ensure(true, 0)
			for _, key := range []string{"a", "b", "y"} {
				row := b.row(key, 0, 1, `{"name": "n"}`, point)
				b.must(row)
				b.must(row)
				f := b.audited(row)[0]
				check.That(t, f.There && !f.Differs, "%s: %+v", key, f)
			}
			b.must(b.row("b", 0, 2, "", ""))
			check.Equal(t, b.ask("select string_agg(id, ',' order by id) from parcels"), "a,x,y")
		})
	}
}

// A table that is partitioned by another column has no unique key, and no statement can give it one.
func TestPrepare_S4_3_partitionedByAnotherColumn(t *testing.T) {
	t.Parallel()
	b := open(t, postgis.Need(t), ", rest_column: rest")
	b.exec("drop table parcels; create table parcels (id text, region text, geom geometry, rest jsonb, primary key (id, region)) partition by list (region)")
	found, err := b.compared(nil)
	_, is := errors.AsType[*TableError](err)
	check.That(t, is && len(found) != 0 && found[0].Column == "id" && !strings.Contains(found[0].Fix, "add unique") && strings.Contains(found[0].Fix, `partitioned by "id"`),
		"%v, %v", found, err)
}

// A view on a table has no index to be made.
func TestEnsure_S0_6_aViewGetsNoIndex(t *testing.T) {
	t.Parallel()
	b := open(t, postgis.Need(t), "")
	b.exec("drop index parcels_geom; alter table parcels rename to base; create view parcels as select * from base")
	done, err := Ensure(t.Context(), b.cfg, true)
	check.That(t, err == nil && len(done.Statements) == 0, "%q, %v", done.Statements, err)
}
