package sink

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/switchback-geo/switchback/internal/config"
	check "github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/postgis"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/transform"
)

const file = `
pipeline:
  id: parcels
  retry_policy: {max_attempts: 5, base_delay_seconds: 2.0, retryable_status_codes: [429, 503]}
  tolerance: {max_null_rate: 0.005, halt_on_geometry_invalid: false}
sink: {postgis: {dsn_env: SINK_TEST_DSN, table: parcels%s}}
transform:
  fields:
    - {from: name, to: name, type: string}
    - {from: area, to: area, type: number}
    - {from: seen, to: seen, type: datetime}
    - {from: tags, to: tags, type: array}
  unmapped: keep
`

// fixture is a table of one test.
type fixture struct {
	t       *testing.T
	cfg     *config.Config
	dsn     string // DSN of the sink
	db      *pgx.Conn
	decoder *transform.Transformer
	*Sink
}

// newFixture creates the table with the statements of `sink ddl`, and its sink.
func newFixture(t *testing.T, server *postgis.Server, keys string) *fixture {
	t.Helper()
	dsn := server.Database(t)
	cfg, err := config.Parse("p.yaml", fmt.Appendf(nil, file, keys), func(name string) string {
		if name == "SINK_TEST_DSN" {
			return dsn
		}
		return ""
	})
	must.Do(t, err)
	b := &fixture{t: t, cfg: cfg}
	b.connectWith(dsn)
	b.db, err = pgx.Connect(t.Context(), dsn)
	must.Do(t, err)
	t.Cleanup(func() { _ = b.db.Close(context.WithoutCancel(t.Context())) })
	ddl := must.Get(DDL(cfg))(t)
	b.exec(ddl)
	b.decoder, err = transform.New(cfg.Transform)
	must.Do(t, err)
	b.Sink = b.openSink()
	return b
}

// openSink returns another sink of the table, with the current configuration.
func (b *fixture) openSink() *Sink {
	b.t.Helper()
	s := must.Get(Open(b.cfg, slog.New(slog.DiscardHandler)))(b.t)
	b.t.Cleanup(s.Close)
	return s
}

// parallelFixture is newFixture for a parallel test.
func parallelFixture(t *testing.T, keys string) *fixture {
	t.Helper()
	t.Parallel()
	return newFixture(t, postgis.Need(t), keys)
}

// connectWith makes later sinks connect with this DSN.
func (b *fixture) connectWith(dsn string) {
	b.t.Helper()
	file := filepath.Join(b.t.TempDir(), "dsn")
	must.Do(b.t, os.WriteFile(file, []byte(dsn), 0o600))
	sink := *b.cfg.Sink.PostGIS
	sink.DSNEnv, sink.DSNFile = "", file
	b.cfg.Sink.PostGIS, b.dsn = &sink, dsn
}

func (b *fixture) exec(sql string) {
	b.t.Helper()
	_, err := b.db.Exec(b.t.Context(), sql)
	must.That(b.t, err == nil, "%s: %v", sql, err)
}

// execAfter is exec for the cleanup of a test.
func (b *fixture) execAfter(sql string) {
	b.t.Helper()
	db := must.Get(pgx.ConnectConfig(context.WithoutCancel(b.t.Context()), b.db.Config()))(b.t)
	defer func() { _ = db.Close(context.WithoutCancel(b.t.Context())) }()
	_, err := db.Exec(context.WithoutCancel(b.t.Context()), sql)
	check.That(b.t, err == nil, "%s: %v", sql, err)
}

// query returns the result of a query as text.
func (b *fixture) query(sql string) string {
	b.t.Helper()
	var text *string
	err := b.db.QueryRow(b.t.Context(), "select ("+sql+")::text").Scan(&text)
	must.That(b.t, err == nil, "%s: %v", sql, err)
	if text == nil {
		return "null"
	}
	return *text
}

// row returns the row of a feature with these properties and this geometry. Empty properties are a delete.
func (b *fixture) row(key string, number, offset int64, properties, geometry string) *Row {
	b.t.Helper()
	r := &Row{Key: []byte(key), Version: header.Version{Number: number, Offset: offset}, ContentHash: "sha256:00", Source: fmt.Sprintf("t/0/%d", offset)}
	if properties == "" {
		return r
	}
	var err error
	text := fmt.Appendf(nil, `{"type":"Feature","id":%q,"properties":%s,"geometry":%s}`, key, properties, geometry)
	r.Feature, err = b.decoder.Decode(text)
	must.Do(b.t, err)
	r.Bytes = len(text)
	must.Do(b.t, b.plain.prepare(r))
	return r
}

func (b *fixture) write(rows ...*Row) error {
	ctx := testrun.Context(b.t, time.Minute)
	return b.Write(ctx, rows)
}

func (b *fixture) must(rows ...*Row) {
	b.t.Helper()
	must.Do(b.t, b.write(rows...))
}

const point = `{"type":"Point","coordinates":[11.5,48.25]}`

// S0-6: a row has each property in the column of its name and type, and the geometry with its SRID.
func TestSink_S0_6_writesAFeatureIntoItsColumns(t *testing.T) {
	b := parallelFixture(t, ", rest_column: rest")
	b.must(b.row("p-1", 0, 7, `{"name":"Ä \"x\"","area":12.5,"seen":"2026-07-01T12:00:00Z","tags":["a",1],"more":{"x":null}}`, point))
	for sql, want := range map[string]string{
		"select count(*) from parcels": "1", "select name from parcels": `Ä "x"`, "select area from parcels": "12.5",
		"select seen = '2026-07-01 12:00+00' from parcels": "true", "select tags from parcels": `["a", 1]`, "select rest from parcels": `{"more": {"x": null}}`,
		"select st_asewkt(geom) from parcels":                                                       "SRID=4326;POINT(11.5 48.25)",
		"select key || number || '/' || source_offset || deleted || source from parcels_switchback": "p-10/7falset/0/7",
	} {
		got := b.query(sql)
		check.That(t, got == want, "%s: %s, want %s", sql, got, want)
	}
	b.must(b.row("p-1", 0, 8, `{"name":"new"}`, "null"))
	check.Equal(t, b.query("select concat_ws(',', name, coalesce(area, -1), geom is null, rest) from parcels"), "new,-1,t,{}", "after a feature with fewer properties")
}

// S0-6, S2-4: repeated and late events leave the table unchanged.
func TestSink_S0_6_S2_4_anOlderStateNeverOverwritesANewerOne(t *testing.T) {
	b := parallelFixture(t, "")
	name := func() string { return b.query("select coalesce((select name from parcels where id = 'k'), 'none')") }
	for i, step := range []struct {
		number, offset int64
		name           string // "" deletes
		want           string
	}{
		{0, 5, "five", "five"},
		{0, 5, "five", "five"},    // again, after a crash
		{0, 3, "three", "five"},   // late
		{2, 4, "v2", "v2"},        // a greater number takes precedence over the offset
		{1, 9, "v1", "v2"},        // and a smaller one loses
		{0, 8, "", "none"},        // a delete is newer than all events before it, whatever its number
		{2, 7, "late", "none"},    // and no event before it returns
		{2, 4, "v2", "none"},      // not even the deleted one
		{9, 6, "v9", "none"},      // whatever its number
		{0, 8, "", "none"},        // the delete again
		{2, 10, "again", "again"}, // a new event
		{9, 6, "v9", "again"},     // events before the delete are still refused
		{0, 9, "", "again"},       // a late delete
		{1, 11, "", "none"},       // the engine's number counts, and the engine may never have seen 2
		{1, 12, "lower", "lower"}, // later events are compared with the delete's number
	} {
		properties := ""
		if step.name != "" {
			properties = fmt.Sprintf(`{"name":%q}`, step.name)
		}
		b.must(b.row("k", step.number, step.offset, properties, point))
		got := name()
		must.That(t, got == step.want, "step %d, version %d/%d %q: the table has %s, want %s", i, step.number, step.offset, step.name, got, step.want)
	}
	s := b.Status()
	check.That(t, s.Written == 5 && s.Deleted == 2 && s.Older == 8, "%+v", s)
}

// TestMain runs more tests in parallel than there are processors, because the tests wait for the database.
func TestMain(m *testing.M) {
	testrun.Together(12)
	os.Exit(m.Run())
}

// writeBatch writes records as one batch and returns the error of each record.
func (b *fixture) writeBatch(rows ...*Row) []error {
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

// S4-3: a record that the database refuses, with any error code, fails alone, and the other records of its batch are
// written.
func TestSink_S4_3_oneRecordOfABatchFailsAlone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		sql, key, properties string
		code                 classify.Code
	}{
		"a key that no index accepts (54000)":    {"", unpackable(9000), `{"name":"x"}`, classify.CodeDBData},
		"nested too deep (54001)":                {"", "bad", deep, classify.CodeDBData},
		"a geometry that PostGIS refuses":        {"alter table parcels add check (name is null or st_geomfromtext(name) is not null)", "bad", `{"name":"POINT("}`, classify.CodeDBData},
		"a function's own error (39, 38, F…)":    {"create function f() returns trigger language plpgsql as $$ begin if new.name = 'x' then raise 'no' using errcode = '38000'; end if; return new; end $$; create trigger f before insert on parcels for each row execute function f()", "bad", `{"name":"x"}`, classify.CodeUnknown},
		"an internal error of another extension": {"create function f() returns trigger language plpgsql as $$ begin if new.name = 'x' then raise 'no' using errcode = 'XX000'; end if; return new; end $$; create trigger f before insert on parcels for each row execute function f()", "bad", `{"name":"x"}`, classify.CodeDBInternal},
	} {
		t.Run(name, func(t *testing.T) {
			b := parallelFixture(t, "")
			b.exec(c.sql)
			bad := b.row(c.key, 0, 2, c.properties, point)
			if c.properties == deep {
				bad.Feature.SetProperty("tags", nested(20000))
			}
			answers := b.writeBatch(b.row("a", 0, 1, `{}`, point), bad, b.row("c", 0, 3, `{}`, point))
			check.That(t, answers[0] == nil && answers[2] == nil && b.query("select string_agg(id, ',' order by id) from parcels") == "a,c", "the others: %v, %v", answers[0], answers[2])
			f := classify.Of(answers[1])
			check.That(t, answers[1] != nil && f.Code == c.code, "%s, want %s: %v", f.Code, c.code, answers[1])
		})
	}
}

// deep marks the feature that gets a value with too many levels.
const deep = `{"name":"deep"}`

func nested(levels int) transform.Value {
	v := transform.ArrayValue()
	for range levels {
		v = transform.ArrayValue(v)
	}
	return v
}

// unpackable returns a key that does not compress.
func unpackable(n int) string {
	var out strings.Builder
	for i := uint64(1); out.Len() < n; i++ {
		fmt.Fprintf(&out, "%x", i*0x9E3779B97F4A7C15)
	}
	return out.String()[:n]
}

// A key that its column would cut or round is refused: it would be another feature's key, and a delete would not find
// the row.
func TestSink_aKeyIsNeverCut(t *testing.T) {
	b := parallelFixture(t, "")
	b.exec("create domain code as varchar(4); create domain code2 as code; create domain amount as numeric(4,1)")
	for _, c := range [][3]string{
		{"varchar(4)", "abcd", "abcde"}, {"varchar(4)", "abc ", "abc     "}, {"char(4)", "abcd", "abcde"}, {"code", "abcd", "abcde"}, {"code2", "abcd", "abcde"},
		{"numeric(4,1)", "1.50", "1.46"}, {"amount", "1.5", "1.46"}, {"timestamp(0)", "2026-11-25T10:00:01Z", "2026-11-25T10:00:00.7Z"}, {"bit(3)", "101", "1011"},
	} {
		b.exec("truncate parcels, parcels_switchback; alter table parcels alter id type " + c[0] + " using null")
		b.table.Store(nil)
		b.must(b.row(c[1], 0, 1, `{"name":"whole"}`, point))
		err := b.write(b.row(c[2], 0, 2, `{"name":"longer"}`, point))
		check.That(t, err != nil && classify.Of(err).Code == classify.CodeDBData, "%s: %v", c, err)
		_ = b.write(b.row(c[2], 0, 3, "", "")) // the delete may be refused too
		check.Equal(t, b.query("select count(*) || max(name) from parcels"), "1whole", c)
	}
}

// Two spellings of one key in one batch, such as 7 and 07 in a numeric column.
func TestSink_spellingsOfAKeyDoNotFailEachOther(t *testing.T) {
	b := parallelFixture(t, "")
	b.exec("alter table parcels alter id type bigint using id::bigint")
	for i, err := range b.writeBatch(b.row("7", 0, 1, `{"name":"x"}`, point), b.row("07", 0, 2, `{"name":"y"}`, point), b.row("8", 0, 3, `{}`, point)) {
		check.That(t, err == nil, "record %d: %v", i, err)
	}
}

// S3-5: the connection to a server that has become read-only, such as the old primary after a failover, is closed. The
// next connection may find the new primary.
func TestSink_S3_5_aConnectionToAStandbyIsGivenUp(t *testing.T) {
	b := parallelFixture(t, ", max_connections: 1")
	name := b.db.Config().Database
	b.exec("alter database " + name + " set default_transaction_read_only = on")
	err := b.write(b.row("a", 0, 1, `{"name":"x"}`, point))
	f := classify.Of(err)
	must.That(t, err != nil && f.Code == classify.CodeDBUnavailable, "%s: %v", f.Code, err)
	b.exec("alter database " + name + " reset default_transaction_read_only")
	check.Do(t, b.write(b.row("a", 0, 1, `{"name":"x"}`, point)), "the connection of before is used again")
}

// If the connection is terminated between two statements, all of the batch is written or nothing.
func TestSink_S0_6_aConnectionThatIsCutLeavesAllOrNothing(t *testing.T) {
	b := parallelFixture(t, ", max_connections: 1")
	b.must(b.row("gone", 0, 1, `{"name":"x"}`, point), b.row("kept", 0, 1, `{"name":"x"}`, point))
	b.exec("create function slow() returns trigger language plpgsql as $$ begin perform pg_advisory_xact_lock(1); return old; end $$; create trigger slow before delete on parcels for each row execute function slow()")
	b.exec("select pg_advisory_lock(1)")
	done := make(chan error, 1)
	go func() { done <- b.write(b.row("gone", 0, 2, "", point), b.row("kept", 0, 2, `{"name":"y"}`, point)) }()
	untilBlocked(t, b, 1)
	b.exec("select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'")
	f := classify.Of(<-done)
	check.That(t, f.Transient(), "%s %v", f.Code, f.Err)
	b.exec("select pg_advisory_unlock(1)")
	check.Equal(t, b.query("select string_agg(id || name, ',' order by id) from parcels"), "gonex,keptx", "rows after the terminated connection")
	b.must(b.row("gone", 0, 2, "", point), b.row("kept", 0, 2, `{"name":"y"}`, point))
	check.Equal(t, b.query("select string_agg(id || name, ',') from parcels"), "kepty")
}
