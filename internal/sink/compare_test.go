package sink

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/testkit/eventually"
	check "github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// mismatches returns what the start-up finds in a table.
func (b *fixture) mismatches(change func(*config.Config)) (found []Mismatch, err error) {
	b.t.Helper()
	cfg := *b.cfg
	own := *b.cfg.Sink.PostGIS
	cfg.Sink.PostGIS = &own
	if change != nil {
		change(&cfg)
	}
	s := must.Get(Open(&cfg, slog.New(slog.DiscardHandler)))(b.t)
	defer s.Close()
	notes, err := s.Prepare(b.t.Context())
	if refused, is := errors.AsType[*TableError](err); is {
		notes = append(slices.Clone(refused.Mismatches), notes...)
	} else if err != nil {
		b.t.Fatal(err)
	}
	return notes, err
}

// S4-3: the start-up compares the table column by column. It lists every mismatch with the statement that fixes it.
func TestPrepare_S4_3_listsEveryMismatchWithWhatFixesIt(t *testing.T) {
	b := parallelFixture(t, "")
	ddl := must.Get(DDL(b.cfg))(t)
	for name, c := range map[string]struct {
		sql    string
		change func(*config.Config)
		reach  Reach
		want   string // part of the only mismatch
		words  bool   // the fix is not just a statement
	}{
		"no key":                  {"alter table parcels drop id", nil, ReachAll, `column "id" does not exist`, false},
		"key not unique":          {"alter table parcels drop constraint parcels_pkey", nil, ReachAll, `column "id" is not unique`, false},
		"key is an identity":      {"alter table parcels alter id type bigint using 1, alter id add generated always as identity", nil, ReachAll, `column "id" is made by the database`, false},
		"geometry renamed":        {"alter table parcels rename geom to shape", nil, ReachAll, `column "geom" does not exist (sink.postgis.geometry_column): alter table "parcels" rename column "shape" to "geom";`, false},
		"geometry dropped":        {"alter table parcels drop geom", nil, ReachAll, `alter table "parcels" add column "geom" geometry constraint`, false},
		"geometry is text":        {"alter table parcels drop geom, add geom text", nil, ReachAll, `of type text, neither geometry nor geography`, true},
		"another SRID":            {geometryColumn("geometry(Geometry, 25832)"), dimension("drop_z"), ReachAll, "keeps SRID 25832, and the mapping gives 4326", false},
		"SRID by a constraint":    {"alter table parcels drop constraint enforce_srid_geom, add check (st_srid(geom) = 25832)", nil, ReachAll, "keeps SRID 25832", true},
		"a geography":             {geometryColumn("geography(Geometry, 4258)"), dimension("drop_z"), ReachAll, "keeps SRID 4258", false},
		"measures":                {geometryColumn("geometry(GeometryM, 4326)"), nil, ReachAll, "wants measures (M)", false},
		"heights and measures":    {geometryColumn("geometry(GeometryZM, 4326)"), nil, ReachAll, "wants measures (M)", false},
		"no heights":              {geometryColumn("geometry(Geometry, 4326)"), nil, ReachRare, "takes no heights, and the mapping lets them pass", true},
		"no heights, needed":      {geometryColumn("geometry(Geometry, 4326)"), dimension("require_z"), ReachAll, "takes no heights, and every feature has them", false},
		"heights":                 {geometryColumn("geometry(GeometryZ, 4326)"), nil, ReachRare, "wants heights, and the mapping lets features without them pass", true},
		"heights, never produced": {geometryColumn("geometry(PointZ, 4326)"), dimension("drop_z"), ReachAll, "wants heights, and the mapping gives none", false},
		"no heights by a check":   {"alter table parcels add constraint enforce_dims_geom check (st_ndims(geom) = 2)", dimension("require_z"), ReachAll, "takes no heights", true},
		"another type":            {geometryColumn("geometry(Polygon, 4326)"), both(dimension("drop_z"), kinds("Point")), ReachAll, "takes Polygon only, and the mapping gives Point", false},
		"some other types":        {geometryColumn("geometry(Polygon, 4326)"), both(dimension("drop_z"), kinds("Polygon", "MultiPolygon")), ReachSome, "takes Polygon only, and the mapping lets MultiPolygon pass", false},
		"a type by a check":       {"alter table parcels add check (geometrytype(geom) = 'POLYGON' or geom is null)", kinds("Point"), ReachAll, "takes POLYGON only", true},
		"geometry not null":       {"alter table parcels alter geom set not null", nil, ReachNone, `column "geom" must have a value`, false},
		"no rest":                 {"select 1", rest("rest"), ReachAll, `column "rest" does not exist`, false},
		"rest is text":            {"alter table parcels add rest text", rest("rest"), ReachAll, `column "rest" is of type text, not jsonb`, false},
		"kept is misspelt":        {"select 1", kept("nots"), ReachAll, `column "nots" does not exist (sink.postgis.keep_columns)`, true},
		"kept needs a value":      {"alter table parcels add note text not null", kept("note"), ReachAll, `column "note" must have a value, has no default`, false},
		"a field's column":        {"alter table parcels drop area", nil, ReachSome, `column "area" does not exist, and there is no sink.postgis.rest_column for the property: alter table "parcels" add column "area" double precision;`, false},
		"a field's type":          {"alter table parcels alter area type boolean using null", nil, ReachSome, `column "area" is of type boolean, and takes no value of type number`, false},
		"a field's digits":        {"alter table parcels alter area type numeric(10, 2)", nil, ReachNone, `is of type numeric(10,2), and rounds digits of a number`, false},
		"a field's offset":        {"alter table parcels alter seen type timestamp", nil, ReachNone, `is of type timestamp without time zone, and drops the offset of a datetime`, false},
		"a domain":                {"create domain flag as boolean; alter table parcels alter area type flag using null", nil, ReachSome, `takes no value of type number`, false},
		"computed":                {"alter table parcels drop area, add area float8 generated always as (1) stored", nil, ReachSome, `column "area" is not for the property of this name`, true},
		"must have a value":       {"alter table parcels add owner text not null", unmapped("drop"), ReachAll, `column "owner" must have a value, and the mapping gives none`, false},
		"the database's value":    {"alter table parcels add fid int generated by default as identity", nil, ReachNone, `become dead letters: name the column in sink.postgis.keep_columns`, true},
		"may lack a value":        {"alter table parcels alter name set not null", nil, ReachNone, `column "name" must have a value, and features may have none`, false},
		"no guard":                {"drop table parcels_switchback", nil, ReachAll, "its guard parcels_switchback does not exist: `consumer sink ddl`", true},
		"guard lacks a column":    {"alter table parcels_switchback drop source", nil, ReachAll, `parcels_switchback.source" does not exist: alter table "parcels_switchback" add column source text;`, false},
		"guard's type":            {"alter table parcels_switchback alter number type int", nil, ReachAll, `parcels_switchback.number" is of type integer, not bigint`, false},
		"guard's key":             {"alter table parcels_switchback drop constraint parcels_switchback_pkey", nil, ReachAll, `parcels_switchback.key" is not unique`, false},
		"no table":                {"drop table parcels", nil, ReachAll, "parcels does not exist, or this user may not see it: `consumer sink ddl`", true},
	} {
		t.Run(name, func(t *testing.T) {
			b.t = t
			b.exec("drop table if exists parcels, parcels_switchback; drop domain if exists flag; " + ddl)
			found, err := b.mismatches(nil)
			must.That(t, err == nil && len(found) <= 0, "before: %v, %v", found, err)
			b.exec(c.sql)
			found, err = b.mismatches(c.change)
			must.That(t, len(found) == 1 && strings.Contains(found[0].String(), c.want) && found[0].Reach == c.reach, "found %v (%+v), want %q of reach %s", found, found, c.want, c.reach)
			check.That(t, (err != nil) == (c.reach == ReachAll || c.reach == ReachSome) && (err == nil || classify.Of(err).Code == classify.CodeDBSchema), "the start fails with %v", err)
			if c.words {
				return
			}
			b.exec(found[0].Fix)
			found, err = b.mismatches(c.change)
			check.That(t, err == nil && len(found) <= 0, "after the fix: %v, %v", found, err)
		})
	}
}

// A missing privilege is named with the statement that grants it.
func TestPrepare_S4_3_namesThePrivilege(t *testing.T) {
	b := parallelFixture(t, "")
	role := b.role("select, insert, update, delete")
	b.exec("revoke update on parcels from " + role + "; revoke select, delete on parcels_switchback from " + role)
	found, err := b.connectAs(role).mismatches(nil)
	check.That(t, err != nil && len(found) == 2 && strings.Contains(err.Error(), `this user lacks update on "parcels": grant update on "parcels" to`) &&
		strings.Contains(err.Error(), `grant select, delete on "parcels_switchback" to`), "%d mismatches: %v", len(found), err)
}

func geometryColumn(column string) string {
	return "alter table parcels drop constraint if exists enforce_srid_geom, alter geom type " + column + " using null"
}

func dimension(word transform.Dimension) func(*config.Config) {
	return func(c *config.Config) { c.Transform.Geometry.Dimension = word }
}

func kinds(words ...transform.GeometryType) func(*config.Config) {
	return func(c *config.Config) { c.Transform.Geometry.Types = words }
}

func unmapped(word transform.Unmapped) func(*config.Config) {
	return func(c *config.Config) { c.Transform.Unmapped = word }
}

func both(first, second func(*config.Config)) func(*config.Config) {
	return func(c *config.Config) {
		first(c)
		second(c)
	}
}

func rest(column string) func(*config.Config) {
	return func(c *config.Config) { c.Sink.PostGIS.RestColumn = column }
}

func kept(column string) func(*config.Config) {
	return func(c *config.Config) { c.Sink.PostGIS.KeepColumns = []string{column} }
}

// role creates a user of the database with these privileges on both tables.
func (b *fixture) role(privileges string) string {
	b.t.Helper()
	name := "writer_" + b.query("select current_database()")
	b.exec(fmt.Sprintf("create role %s login password 'first'; grant %s on parcels, parcels_switchback to %[1]s", name, privileges))
	b.t.Cleanup(func() { b.execAfter("drop owned by " + name + "; drop role " + name) })
	return name
}

// connectAs makes later sinks connect as another user.
func (b *fixture) connectAs(role string) *fixture {
	b.t.Helper()
	b.connectWith(strings.Replace(b.dsn, "://"+b.db.Config().User, "://"+role+":first", 1))
	return b
}

// reopen replaces the fixture's sink by one with the current configuration.
func (b *fixture) reopen() { b.Sink = b.openSink() }

// demandPasswords makes the server, which must belong to this test, require a user's password.
func (b *fixture) demandPasswords(role string) {
	b.t.Helper()
	hba := b.query("select setting from pg_settings where name = 'hba_file'")
	b.exec("copy (values ('host all " + role + " 127.0.0.1/32 scram-sha-256'), ('host all all 127.0.0.1/32 trust')) to '" + hba + "'")
	b.exec("select pg_reload_conf()")
	eventually.Until(b.t.Context(), b.t, "the new rules", func() (bool, string) {
		rules := b.query("select count(*) from pg_hba_file_rules")
		return rules == "2", rules
	})
}

// auditRows compares rows with the table.
func (b *fixture) auditRows(rows ...*Row) []Fact {
	b.t.Helper()
	a := must.Get(b.Audit(b.t.Context()))(b.t)
	defer func() {
		err := a.End(b.t.Context())
		check.Do(b.t, err)
	}()
	return must.Get(a.Check(b.t.Context(), rows))(b.t)
}

// S0-6: if a column's type rounds, pads or cuts a value, an audit still finds the row unchanged. Geometry columns of a
// specific type and geographies are compared by content.
func TestAudit_S0_6_columnsThatChangeTheirValues(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"geometry", "geometry(Point, 4326)", "geometry(Geometry, 4326)", "geography", "geography(Point, 4326)"} {
		t.Run(kind, func(t *testing.T) {
			wantChangeSeen(t, parallelFixture(t, ""), "alter table parcels drop geom, add geom "+kind, `{}`, "update parcels set geom = 'SRID=4326;POINT(11.5 48.250001)'")
		})
	}
	for column, value := range map[string]string{
		"numeric(10,2)": `12.505`, "numeric(10, 0)": `7.5`, "numeric(3, -2)": `1234`, "numeric": `5.00`, "money": `12.345`,
		"char(5)": `"ab"`, "char": `"a"`, "varchar(3)": `"abc   "`, "bit(3)": `"101"`, "bit varying(5)": `"1011"`, "\"char\"": `"a"`, "name": `"ab"`,
		"timestamp(0)": `"2026-11-25T10:00:00.6"`, "timestamptz(3)": `"2026-11-25T10:00:00.123456Z"`, "time(0)": `"10:00:00.7"`, "timetz(1)": `"10:00:00.777+02:00"`,
		"interval(0)": `"1.7 seconds"`, "interval hour to minute": `"1 day 02:03:04"`, "real": `0.1234567890123`, "double precision": `0.1`,
		"numeric(10,1)[]": `[1.25, 2.35]`, "timestamp(0)[]": `["2026-11-25T10:00:00.6"]`, "char(4)[]": `["a", "bc"]`, "amount": `1.005`, "code": `"ab"`, "code2": `"ab"`, "pair": `{"a": 1.005, "b": "x"}`,
		"json": `{"b": 1,  "a": 2}`, "jsonb": `{"b": 1.0,  "a": 2}`, "numrange": `"[1.0,2)"`, "bytea": `"\\x01"`, "uuid": `"A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11"`, "inet": `"10.0.0.1/32"`, "xml": `"<a/>"`,
	} {
		t.Run(column, func(t *testing.T) {
			const types = "create domain amount as numeric(10,2); create domain code as char(5); create domain code2 as code; create type pair as (a numeric(4,2), b char(3)); "
			wantChangeSeen(t, parallelFixture(t, ""), types+"alter table parcels add x "+column, fmt.Sprintf(`{"x": %s}`, value), "update parcels set x = null")
		})
	}
}

// wantChangeSeen writes a row into an altered table. An audit must find the row unchanged, and must find a later change.
func wantChangeSeen(t *testing.T, b *fixture, alter, properties, change string) {
	t.Helper()
	b.exec(alter)
	row := b.row("k", 0, 1, properties, point)
	b.must(row)
	f := b.auditRows(row)[0]
	check.That(t, f.There && f.Known && !f.Differs, "%+v: the table has %s", f, b.query("select parcels::text from parcels"))
	b.exec(change)
	f = b.auditRows(row)[0]
	check.That(t, f.Differs, "a change is not seen: %+v", f)
}

// S0-6: a row whose values no longer fit the columns differs, and the other rows of its batch are compared nevertheless.
func TestAudit_S0_6_aRowThatTheColumnsDoNotTakeDiffers(t *testing.T) {
	t.Parallel()
	for name, alter := range map[string]string{
		"cut":         "alter column name type varchar(3) using left(name, 3)",
		"no number":   "alter column name type int using length(name)",
		"overflow":    "alter column area type numeric(2,1) using case when area is not null then 1 end",
		"a domain":    "alter column name type short using left(name, 3)",
		"of a domain": "alter column name type shorter using left(name, 3)",
		"cut, padded": "alter column name type char(3) using left(name, 3)",
	} {
		t.Run(name, func(t *testing.T) {
			b := parallelFixture(t, "")
			b.exec("create domain short as varchar(3); create domain shorter as short")
			good, long, other := b.row("a", 0, 1, `{}`, point), b.row("b", 0, 2, `{"name": "abcd", "area": 1234.5}`, point), b.row("c", 0, 3, `{}`, point)
			b.must(good, long, other)
			b.exec("alter table parcels " + alter)
			facts := b.auditRows(good, long, other, b.row("d", 0, 4, `{"name": "wxyz", "area": 1234.5}`, point))
			check.That(t, !facts[0].Differs && facts[1].There && facts[1].Differs && !facts[2].Differs && !facts[3].There && !facts[3].Known, "%+v", facts)
		})
	}
}

// S0-6: the difference that a fact means. The table is written before the topic: a row that is behind is wrong, and one
// that is ahead may be right.
func TestDifferenceOf_S0_6(t *testing.T) {
	live := topicState{source: header.Position{Topic: "t", Partition: 1, Offset: 10}, place: 10}
	gone, loose := live, live
	gone.deletes, loose.loose = true, true
	at := func(source string, offset int64, f Fact) Fact {
		f.Known, f.Source, f.Version.Offset = true, source, offset
		return f
	}
	for name, c := range map[string]struct {
		topic topicState
		fact  Fact
		want  Difference
	}{
		"correct":                           {live, at("t/1/10", 10, Fact{There: true}), ""},
		"a later duplicate":                 {live, at("t/1/20", 20, Fact{Same: true, There: true}), ""},
		"no row":                            {live, at("t/1/10", 10, Fact{}), DifferenceMissing},
		"another content":                   {live, at("t/1/10", 10, Fact{There: true, Differs: true}), DifferenceChanged},
		"no guard":                          {live, Fact{There: true}, DifferenceMissing},
		"an older event":                    {live, at("t/1/9", 9, Fact{There: true, Differs: true}), DifferenceStale},
		"an older delete":                   {live, at("t/1/9", 9, Fact{Deleted: true}), DifferenceMissing},
		"a newer event":                     {live, at("t/1/11", 11, Fact{There: true, Differs: true}), DifferenceAhead},
		"a newer delete":                    {live, at("t/1/11", 11, Fact{Deleted: true}), DifferenceAhead},
		"another partition":                 {live, at("t/0/9", 9, Fact{There: true, Differs: true}), DifferenceAhead},
		"a guard without a source":          {live, at("", 9, Fact{There: true}), DifferenceAhead},
		"versions without an order":         {loose, at("t/1/9", 9, Fact{There: true, Differs: true}), DifferenceAhead},
		"deleted":                           {gone, at("t/1/10", 10, Fact{Deleted: true}), ""},
		"deleted, but the row exists":       {gone, at("t/1/10", 10, Fact{Deleted: true, There: true}), DifferenceExtra},
		"deleted, never written":            {gone, Fact{}, ""},
		"deleted, but a foreign row exists": {gone, Fact{There: true}, DifferenceExtra},
		"not deleted yet":                   {gone, at("t/1/9", 9, Fact{There: true}), DifferenceExtra},
		"deleted, and written again":        {gone, at("t/1/11", 11, Fact{There: true}), DifferenceAhead},
	} {
		check.Equal(t, differenceOf(c.topic, c.fact), c.want, name)
	}
}

// The newest record of a key counts. Among several partitions, it is the one with the latest timestamp.
func TestNewest(t *testing.T) {
	n := newestRecords{places: map[keyHash]recordPosition{}, limit: 2}
	rec := func(partition int32, offset, millis int64) *kgo.Record {
		return &kgo.Record{Topic: "out", Partition: partition, Offset: offset, Timestamp: time.UnixMilli(millis)}
	}
	older, newer, elsewhere := rec(0, 1, 5), rec(0, 2, 5), rec(1, 0, 4)
	for _, r := range []*kgo.Record{older, newer, elsewhere} {
		must.Do(t, n.take([]byte("k"), r))
	}
	check.That(t, !n.is([]byte("k"), older) && n.is([]byte("k"), newer) && !n.is([]byte("k"), elsewhere) && !n.is([]byte("other"), newer), "%v", n.places)
	err := errors.Join(n.take([]byte("l"), older), n.take([]byte("m"), older))
	check.That(t, errors.Is(err, ErrTooManyKeys), "%v", err)
}
