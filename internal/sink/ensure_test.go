package sink

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"

	"github.com/switchback-geo/switchback/internal/config"
	check "github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/postgis"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// ensure runs Ensure and checks the number of statements.
func (b *fixture) ensure(execute bool, statements int) Ensured {
	b.t.Helper()
	done := must.Get(Ensure(b.t.Context(), b.cfg, execute))(b.t)
	check.That(b.t, len(done.Statements) == statements, "%d statements, want %d:\n%s", len(done.Statements), statements, strings.Join(done.Statements, "\n"))
	return done
}

// S0-6: ensure creates a suitable table from an empty database, once, with exactly the printed statements.
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
			b := parallelFixture(t, ", rest_column: rest")
			b.exec("drop table parcels, parcels_switchback; drop extension postgis")
			b.cfg.Transform.Fields[0].From = `the owner's \ name`
			c.change(b.cfg)
			printed := b.ensure(false, 10)
			got := b.query("select count(*) from pg_tables where tablename like 'parcels%'")
			must.That(t, got == "0", "the dry run made %s tables", got)
			executed := b.ensure(true, 10)
			check.That(t, strings.Join(printed.Statements, "\n") == strings.Join(executed.Statements, "\n") && len(executed.Left) == 0, "printed %v\nmade %v\nleft %v", printed.Statements, executed.Statements, executed.Left)
			b.ensure(true, 0)
			for sql, want := range map[string]string{
				"select format_type(atttypid, atttypmod) from pg_attribute where attrelid = 'parcels'::regclass and attname = 'geom'":             c.typ,
				"select count(*) from pg_indexes where tablename = 'parcels' and indexdef like '%gist (geom)%'":                                   "1",
				"select col_description('parcels'::regclass, attnum) from pg_attribute where attrelid = 'parcels'::regclass and attname = 'name'": `Switchback: from property the owner's \ name, string`,
				"select obj_description('parcels'::regclass) like 'Switchback: % of pipeline parcels, found by %'":                                "true",
			} {
				check.Equal(t, b.query(sql), want, sql)
			}
			b.reopenWithKey(b.cfg.Sink.Key)
			notes, err := b.Prepare(t.Context())
			check.That(t, err == nil && len(notes) == 0, "%v, %v", notes, err)
		})
	}
}

// S0-6: a foreign table gets the missing columns and an index. Existing objects are not changed, and differences are
// reported.
func TestEnsure_S0_6_addsWhatATableHasNot(t *testing.T) {
	b := parallelFixture(t, ", keep_columns: [note]")
	b.exec("drop table parcels, parcels_switchback; create table parcels (id text primary key, note text, name text, area text, geom geometry(Geometry, 25832)); " +
		"comment on column parcels.name is 'ours'; insert into parcels (id, note) values ('k', 'mine')")
	before := b.query("select string_agg(attname || format_type(atttypid, atttypmod), ' ' order by attnum) from pg_attribute where attrelid = 'parcels'::regclass and attnum > 0")
	dry := b.ensure(false, 6) // two columns and their comments, the guard, the index
	done := b.ensure(true, 6)
	check.That(t, (len(dry.Left) == 0 || dry.Left[0].Column == "geom") && len(done.Left) == 1 && done.Left[0].Column == "geom" && strings.Contains(done.Left[0].Fix, "st_transform"), "left %v, %v", dry.Left, done.Left)
	after := b.query("select string_agg(attname || format_type(atttypid, atttypmod), ' ' order by attnum) from pg_attribute where attrelid = 'parcels'::regclass and attnum > 0")
	check.That(t, after == before+" seentimestamp with time zone tagsjsonb", "%s became %s", before, after)
	check.Equal(t, b.query("select note || ' ' || col_description('parcels'::regclass, 3) from parcels"), "mine ours")
	b.ensure(true, 0)
}

// Concurrent runs create one table.
func TestEnsure_S0_6_isRepeatedAtWill(t *testing.T) {
	b := parallelFixture(t, "")
	b.exec("drop table parcels, parcels_switchback")
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			_, err := Ensure(t.Context(), b.cfg, true)
			check.Do(t, err)
		})
	}
	all.Wait()
	b.ensure(true, 0)
}

// S0-6: the printed statements work on the existing table. An index on a partitioned table is not created concurrently.
func TestEnsure_S0_6_partitionedTables(t *testing.T) {
	t.Parallel()
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
			b := parallelFixture(t, "")
			b.exec("drop table parcels, parcels_switchback; " + c.sql + "; insert into parcels (id) values ('b'), ('x')")
			dry, err := Ensure(t.Context(), b.cfg, false)
			must.That(t, err == nil && strings.HasPrefix(dry.Statements[len(dry.Statements)-1], c.index), "%q, %v", dry.Statements, err)
			must.Get(Ensure(t.Context(), b.cfg, true))(t)
			b.ensure(true, 0)
			for _, key := range []string{"a", "b", "y"} {
				row := b.row(key, 0, 1, `{"name": "n"}`, point)
				b.must(row)
				b.must(row)
				f := b.auditRows(row)[0]
				check.That(t, f.There && !f.Differs, "%s: %+v", key, f)
			}
			b.must(b.row("b", 0, 2, "", ""))
			check.Equal(t, b.query("select string_agg(id, ',' order by id) from parcels"), "a,x,y")
		})
	}
}

// A table that is partitioned by another column has no unique key, and no statement can add one. A table without
// partitions accepts no row.
func TestPrepare_S4_3_partitionedTablesThatTakeNothing(t *testing.T) {
	b := parallelFixture(t, ", rest_column: rest")
	for sql, want := range map[string]string{
		"primary key (id, region)) partition by list (region); create table rest partition of parcels default":                                              `column "id" is not unique (sink.postgis.key_column), and cannot be in a table that is partitioned by something else: make a table that is partitioned by "id"`,
		"primary key (id)) partition by hash (id)":                                                                                                          "partitioned and has no partition, so no row has a place: create table … partition of",
		"primary key (id)) partition by hash (id); create table rest partition of parcels for values with (modulus 1, remainder 0) partition by range (id)": "partitioned and has no partition",
	} {
		b.exec("drop table parcels; create table parcels (id text, region text, geom geometry, rest jsonb, " + sql)
		found, err := b.mismatches(nil)
		_, is := errors.AsType[*TableError](err)
		check.That(t, is && len(found) != 0 && strings.Contains(found[0].String(), want), "%s: %v, %v", sql, found, err)
	}
}

// A view gets no index.
func TestEnsure_S0_6_aViewGetsNoIndex(t *testing.T) {
	b := parallelFixture(t, "")
	b.exec("drop index parcels_geom; alter table parcels rename to base; create view parcels as select * from base")
	done, err := Ensure(t.Context(), b.cfg, true)
	check.That(t, err == nil && len(done.Statements) == 0, "%q, %v", done.Statements, err)
}

// newFeatureFixture creates a table whose rows are found by feature IDs.
func newFeatureFixture(t *testing.T) *fixture {
	b := newFixture(t, postgis.Need(t), "")
	b.exec("drop table parcels, parcels_switchback")
	b.reopenWithKey(config.SinkKeyFeature)
	ddl := must.Get(DDL(b.cfg))(t)
	b.exec(ddl)
	return b
}

// reopenWithKey opens the sink again, with another rule for its rows.
func (b *fixture) reopenWithKey(key config.SinkKey) {
	b.cfg.Sink.Key = key
	b.reopen()
}

// featureRow returns the row of a record key whose feature has an ID. An empty ID is a delete.
func (b *fixture) featureRow(key, id string, offset int64) *Row {
	properties := fmt.Sprintf(`{"name":"%s of %s at %d"}`, id, key, offset)
	if id == "" {
		properties = ""
	}
	r := b.row(key, 0, offset, properties, point)
	if r.Key = GuardKey([]byte(key)); id != "" {
		r.RowKey = []byte(id)
	}
	return r
}

// withRecordKey gives a row another record key.
func withRecordKey(r *Row, key string) *Row {
	r.Key = GuardKey([]byte(key))
	return r
}

func (b *fixture) rowNames() string {
	return b.query("select coalesce(string_agg(id || ': ' || name, ', ' order by id), 'none') from parcels")
}

// S0-6: rows are found by feature IDs. A tombstone finds its row, a row whose ID changes moves, and older events change
// nothing.
func TestSink_S0_6_rowsOfFeatureIds(t *testing.T) {
	b := newFeatureFixture(t)
	notes, err := b.Prepare(t.Context())
	must.That(t, err == nil && len(notes) == 0, "%v, %v", notes, err)
	const binary = "\x00\x00\x00\x00\x01\x0e" // an Avro key
	for i, step := range []struct {
		row  *Row
		want string
	}{
		{b.featureRow("k1", "A", 5), "A: A of k1 at 5"},
		{b.featureRow("k1", "A", 5), "A: A of k1 at 5"},
		{b.featureRow("k1", "B", 6), "B: B of k1 at 6"}, // the old row is deleted
		{b.featureRow("k1", "A", 4), "B: B of k1 at 6"}, // late
		{b.featureRow("k1", "", 3), "B: B of k1 at 6"},
		{withRecordKey(b.featureRow("bin", "A", 1), binary), "A: A of bin at 1, B: B of k1 at 6"},
	} {
		b.must(step.row)
		got := b.rowNames()
		must.That(t, got == step.want, "step %d: %s, want %s", i, got, step.want)
	}
	b.must(b.featureRow("k1", "", 7))
	check.Equal(t, b.rowNames(), "A: A of bin at 1", "after the tombstone")
	b.must(b.featureRow("k1", "B", 6)) // events before the tombstone stay deleted
	b.must(withRecordKey(b.featureRow("bin", "", 2), binary))
	check.Equal(t, b.rowNames(), "none", "after both tombstones")
}

// S0-6: a row belongs to one record key. A row of another key is refused with its own transient error, and is written
// once the row is free.
func TestSink_S0_6_aRowHasOneRecordKey(t *testing.T) {
	b := newFeatureFixture(t)
	b.must(b.featureRow("k1", "A", 5))
	errs := b.writeBatch(b.featureRow("k0", "C", 1), b.featureRow("k2", "A", 9), b.featureRow("k3", "D", 1))
	check.That(t, errs[0] == nil && errs[2] == nil, "the others: %v, %v", errs[0], errs[2])
	f := classify.Of(errs[1])
	is := errors.Is(errs[1], errClaimed)
	check.That(t, is && f.Code == classify.CodeDBConstraint && f.Class == classify.RetryBackoff, "%v is %s, %s", errs[1], f.Code, f.Class)
	check.Equal(t, b.rowNames(), "A: A of k1 at 5, C: C of k0 at 1, D: D of k3 at 1")
	b.must(b.featureRow("k1", "B", 6))
	b.must(b.featureRow("k2", "A", 9))
	check.Equal(t, b.rowNames(), "A: A of k2 at 9, B: B of k1 at 6, C: C of k0 at 1, D: D of k3 at 1")
	b.must(b.featureRow("k1", "", 7))
	check.Equal(t, b.rowNames(), "A: A of k2 at 9, C: C of k0 at 1, D: D of k3 at 1", "a delete took another key's row")
	nowhere := b.featureRow("k4", "E", 1)
	nowhere.RowKey = []byte{0}
	err := b.write(nowhere)
	check.That(t, classify.Of(err).Code == classify.CodeMissingRequired, "an id that finds no row: %v", err)
}

// S0-6: concurrent writers of two instances move rows in random order, each twice. Each key ends at the row of its
// newest event, and no other row is left.
func TestSink_S0_6_movedRowsLeaveNothingBehind(t *testing.T) {
	one := newFeatureFixture(t)
	first := one.Sink
	one.reopenWithKey(config.SinkKeyFeature)
	const keys, versions = 30, 8
	var rows []*Row
	for k := range keys {
		for v := range versions {
			id := fmt.Sprintf("%02d-%d", k, v%3)
			if v == versions-1 && k%5 == 0 {
				id = ""
			}
			rows = append(rows, one.featureRow(fmt.Sprint("k", k), id, int64(v)))
		}
	}
	writeShuffled(t, rows, first, one.Sink)
	check.Equal(t, one.query("select count(*) || ' ' || count(*) filter (where name like '% at 7' and id like '%-1') from parcels"), "24 24", "rows, and those in their newest state")
}

// rekey changes the table to another rule. rows maps each key to its row.
func (b *fixture) rekey(key config.SinkKey, rows map[string]string, execute bool) (Rekeyed, error) {
	cfg := *b.cfg
	cfg.Sink.Key = key
	return Rekey(b.t.Context(), &cfg, func(ctx context.Context, of *Guarded) error {
		of.limit = 3 // so that there are several pages
		return of.Each(ctx, func(old string) error {
			if rows[old] == "" {
				return nil
			}
			return errors.Join(of.Add(ctx, old, old, "before"), of.Add(ctx, old, old, rows[old]))
		})
	}, execute)
}

// S0-6: a table with rows changes from record keys to feature IDs, all or nothing. Afterwards events move and delete
// these rows, and older events are still refused.
func TestRekey_S0_6_takesATableWithRows(t *testing.T) {
	b := parallelFixture(t, "")
	leads := map[string]string{}
	for i := range 8 {
		key := fmt.Sprint("k", i)
		leads[key] = fmt.Sprint("f", i)
		b.must(b.row(key, 0, 10, fmt.Sprintf(`{"name":%q}`, key), point))
	}
	b.must(b.row("k7", 0, 11, "", point))
	before := b.rowNames()
	for want, broken := range map[string]map[string]string{"get no key": {"k3": ""}, "have the key of another": {"k3": "f2"}} {
		changed := maps.Clone(leads)
		maps.Copy(changed, broken)
		_, err := b.rekey(config.SinkKeyFeature, changed, true)
		_, is := errors.AsType[*RekeyError](err)
		check.That(t, is && strings.Contains(err.Error(), want) && strings.Contains(err.Error(), "k3"), "%s: %v", want, err)
	}
	done, err := b.rekey(config.SinkKeyFeature, leads, false)
	must.That(t, err == nil && done.Rows == 7 && done.Keys == 8 && b.rowNames() == before, "the dry run: %+v, %v, %s", done, err, b.rowNames())
	done, err = b.rekey(config.SinkKeyFeature, leads, true)
	must.That(t, err == nil && done.Rows == 7, "%+v, %v", done, err)
	again, err := b.rekey(config.SinkKeyFeature, leads, true)
	check.That(t, err == nil && again.Unchanged, "again: %+v, %v", again, err)
	wantDeferral(t, b.write(b.row("k0", 0, 12, `{"name":"by the old rule"}`, point)), Dependency, "consumer sink rekey")
	b.reopenWithKey(config.SinkKeyFeature)
	b.must(b.featureRow("k0", "f0", 9), b.featureRow("k1", "", 12), b.featureRow("k2", "moved", 12), b.featureRow("k3", "f3", 12), b.featureRow("k7", "f7", 10))
	want := "f0: k0, f3: f3 of k3 at 12, f4: k4, f5: k5, f6: k6, moved: moved of k2 at 12"
	check.Equal(t, b.rowNames(), want)
	_, err = b.rekey(config.SinkKeyRecord, leads, true)
	check.That(t, err != nil && strings.Contains(err.Error(), "cannot return"), "back to the record key: %v", err)
}

// If a row would get another key than its feature's, nothing is changed.
func TestRekey_changesNoKey(t *testing.T) {
	b := parallelFixture(t, "")
	b.exec("alter table parcels alter id type varchar(4)")
	b.must(b.row("k", 0, 1, `{"name":"x"}`, point))
	_, err := b.rekey(config.SinkKeyFeature, map[string]string{"k": "f     "}, true)
	check.That(t, err != nil && strings.Contains(err.Error(), "would change the key f"), "%v", err)
	check.Equal(t, b.rowNames(), "k: x")
}
