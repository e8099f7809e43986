package sink

import (
	"errors"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/postgis"
)

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
			if err != nil || !strings.HasPrefix(dry.Statements[len(dry.Statements)-1], c.index) {
				t.Fatalf("%q, %v", dry.Statements, err)
			}
			must.Get(Ensure(t.Context(), b.cfg, true))(t)
			b.ensure(true, 0)
			for _, key := range []string{"a", "b", "y"} {
				row := b.row(key, 0, 1, `{"name": "n"}`, point)
				b.must(row)
				b.must(row)
				if f := b.audited(row)[0]; !f.There || f.Differs {
					t.Errorf("%s: %+v", key, f)
				}
			}
			b.must(b.row("b", 0, 2, "", ""))
			if got := b.ask("select string_agg(id, ',' order by id) from parcels"); got != "a,x,y" {
				t.Error(got)
			}
		})
	}
}

// A table that is partitioned by another column has no unique key, and no statement can give it one.
func TestPrepare_S4_3_partitionedByAnotherColumn(t *testing.T) {
	t.Parallel()
	b := open(t, postgis.Need(t), ", rest_column: rest")
	b.exec("drop table parcels; create table parcels (id text, region text, geom geometry, rest jsonb, primary key (id, region)) partition by list (region)")
	found, err := b.compared(nil)
	if _, is := errors.AsType[*TableError](err); !is || len(found) == 0 || found[0].Column != "id" || strings.Contains(found[0].Fix, "add unique") || !strings.Contains(found[0].Fix, `partitioned by "id"`) {
		t.Errorf("%v, %v", found, err)
	}
}

// A view on a table has no index to be made.
func TestEnsure_S0_6_aViewGetsNoIndex(t *testing.T) {
	t.Parallel()
	b := open(t, postgis.Need(t), "")
	b.exec("drop index parcels_geom; alter table parcels rename to base; create view parcels as select * from base")
	done, err := Ensure(t.Context(), b.cfg, true)
	if err != nil || len(done.Statements) != 0 {
		t.Errorf("%q, %v", done.Statements, err)
	}
}
