package enrich

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/paulmach/orb"

	"github.com/switchback-geo/switchback/internal/breaker"
	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/testkit/eventually"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/postgis"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/transform"
)

const schema = `
create table places (id text primary key, n integer, name text, at geometry(Polygon, 4326));
insert into places values
  ('4711', 1, 'Ulm', st_makeenvelope(9, 48, 10, 49, 4326)), ('b', 2, 'Bonn', st_makeenvelope(7, 50, 8, 51, 4326)), ('c', 2, 'Köln', null);
create table zones (id text primary key, name text);
insert into zones values ('4711', 'A');
create function boom(state text) returns integer language plpgsql as
  'begin raise exception using errcode = state; end';
create function write() returns integer language plpgsql volatile as
  'begin insert into places (id) values (''written''); return 1; end';`

// database is a PostGIS database of one test, with a session of the test.
type database struct {
	t      *testing.T
	server *postgis.Server
	dsn    string
	conn   *pgx.Conn
}

// newDatabase creates a database on the PostGIS server that parallel tests share.
func newDatabase(t *testing.T) *database {
	t.Helper()
	t.Parallel()
	server := postgis.Need(t)
	b := &database{t: t, server: server, dsn: server.Database(t)}
	b.conn = b.connect()
	b.exec(schema)
	return b
}

func (b *database) connect() *pgx.Conn {
	b.t.Helper()
	conn := must.Get(pgx.Connect(b.t.Context(), b.dsn))(b.t)
	b.t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func (b *database) exec(sql string) {
	b.t.Helper()
	must.Get(b.conn.Exec(b.t.Context(), sql))(b.t)
}

// queryOne returns the single value of a query.
func queryOne[T any](b *database, sql string) T {
	b.t.Helper()
	var value T
	must.Do(b.t, b.conn.QueryRow(b.t.Context(), sql).Scan(&value))
	return value
}

// steps returns one step whose only provider is the database.
func (b *database) steps(query string, args []string, change func(*config.EnrichStep)) *Steps {
	b.t.Helper()
	file := filepath.Join(b.t.TempDir(), "dsn")
	must.Do(b.t, os.WriteFile(file, []byte(b.dsn), 0o600))
	step := config.EnrichStep{
		Name: "place", Set: map[string]string{"place_name": "/name"}, Required: true, Retries: 3,
		SQL: &config.SQLLookup{DSNFile: file, Query: query, Args: args, Timeout: config.Duration(20 * time.Second), MaxConnections: 2, MaxRows: 1, MaxResponseBytes: 2000},
	}
	if change != nil {
		change(&step)
	}
	return mustSteps(b.t, step)
}

// untilWaits returns once a session of a lookup waits for a lock or sleeps.
func (b *database) untilWaits(event string) {
	b.t.Helper()
	eventually.Until(b.t.Context(), b.t, "a lookup that waits", func() (bool, string) {
		n := queryOne[int](b, "select count(*) from pg_stat_activity where application_name = 'switchback' and datname = current_database() and wait_event_type = '"+event+"'")
		return n > 0, fmt.Sprint(n, " sessions")
	})
}

func TestSQL_looksUp(t *testing.T) {
	b := newDatabase(t)
	t.Run("by_id", func(t *testing.T) {
		f := parcel()
		must.Do(t, b.steps("select name from places where id = $1", []string{"id"}, nil).Apply(t.Context(), f, ""))
		name, _ := f.Property("place_name")
		expect.That(t, name.Text() == "Ulm", "place_name is %q", name.Text())
	})
	t.Run("by_place_and_gives_a_geometry", func(t *testing.T) {
		steps := b.steps("select name, n, st_envelope(at) as box from places where st_contains(at, st_geomfromgeojson($1))", []string{"geometry"}, func(s *config.EnrichStep) {
			s.Set = map[string]string{"name": "/name", "n": "/n", "kind": "/box/type"}
		})
		f := &transform.Feature{Geometry: transform.Geometry{Shape: orb.Point{7.5, 50.5}}}
		must.Do(t, steps.Apply(t.Context(), f, ""))
		expect.Equal(t, properties(t, f), `{"kind":"Polygon","n":2,"name":"Bonn"}`)
	})
	t.Run("every_type_of_geometry", func(t *testing.T) {
		steps := b.steps("select st_asgeojson(st_geomfromgeojson($1)) as shape", []string{"geometry"}, func(s *config.EnrichStep) {
			s.Set = map[string]string{"shape": "/shape"}
		})
		square := orb.Ring{{0, 0}, {1, 0}, {1, 1.5}, {0, 0}}
		for want, shape := range map[string]orb.Geometry{
			`{"type":"Point","coordinates":[1,2]}`:                                              orb.Point{1, 2},
			`{"type":"MultiPoint","coordinates":[[1,2],[3,4]]}`:                                 orb.MultiPoint{{1, 2}, {3, 4}},
			`{"type":"LineString","coordinates":[[1,2],[3,4]]}`:                                 orb.LineString{{1, 2}, {3, 4}},
			`{"type":"MultiLineString","coordinates":[[[1,2],[3,4]]]}`:                          orb.MultiLineString{{{1, 2}, {3, 4}}},
			`{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1.5],[0,0]]]}`:                    orb.Polygon{square},
			`{"type":"MultiPolygon","coordinates":[[[[0,0],[1,0],[1,1.5],[0,0]]]]}`:             orb.MultiPolygon{{square}},
			`{"type":"GeometryCollection","geometries":[{"type":"Point","coordinates":[1,2]}]}`: orb.Collection{orb.Point{1, 2}},
		} {
			f := &transform.Feature{Geometry: transform.Geometry{Shape: shape}}
			must.Do(t, steps.Apply(t.Context(), f, ""))
			got, _ := f.Property("shape")
			expect.That(t, got.Text() == want, "got %s, want %s", got.Text(), want)
		}
	})
	t.Run("several_rows", func(t *testing.T) {
		steps := b.steps("select name from places where n = $1 order by name", []string{"properties.n"}, func(s *config.EnrichStep) {
			s.SQL.MaxRows, s.Set = 5, map[string]string{"first": "/0/name", "all": ""}
		})
		f := &transform.Feature{Properties: []transform.Member{{Name: "n", Value: number(2)}}}
		must.Do(t, steps.Apply(t.Context(), f, ""))
		expect.Equal(t, properties(t, f), `{"n":2,"all":[{"name":"Bonn"},{"name":"Köln"}],"first":"Bonn"}`)
	})
	t.Run("nothing_and_nothing_is_required", func(t *testing.T) {
		f := parcel()
		steps := b.steps("select name from zones where id = $1", []string{"properties.up"}, func(s *config.EnrichStep) { s.Required = false })
		must.Do(t, steps.Apply(t.Context(), f, ""))
		name, ok := f.Property("place_name")
		expect.That(t, ok && name.IsNull(), "place_name is %q", name.Text())
	})
}

// Whatever a value contains, the text of the query is the configured one.
func TestSQL_aValueIsNeverTextOfTheQuery(t *testing.T) {
	b := newDatabase(t)
	steps := b.steps("select name from places where id = $1", []string{"id"}, nil)
	for _, evil := range []string{"'; drop table places; --", "4711' or '1'='1", "$1", `\'; delete from places --`} {
		err := steps.Apply(t.Context(), &transform.Feature{ID: transform.StringValue(evil)}, "")
		wantFailure(t, err, classify.Row, classify.CodeForeignKeyUnresolved, "nothing matches")
	}
	steps = b.steps("select name, write() from places where id = $1", []string{"id"}, nil)
	wantFailure(t, steps.Apply(t.Context(), parcel(), ""), classify.Permanent, classify.CodeDBAccess, "25006") // a query that writes is permanent, because waiting does not help
	expect.Equal(t, queryOne[int](b, "select count(*) from places"), 3)
}

// S4-3: failures of a real database and their classes.
func TestSQL_S4_3_faults(t *testing.T) {
	b := newDatabase(t)
	b.exec("set lock_timeout = '5s'")
	name := queryOne[string](b, "select current_database()")
	b.exec("alter database " + name + " set temp_file_limit = '64kB'")
	b.exec("alter database " + name + " set work_mem = '64kB'")
	short := func(s *config.EnrichStep) { s.SQL.Timeout = config.Duration(time.Second) }
	for _, c := range []struct {
		name, query string
		change      func(*config.EnrichStep)
		class       classify.Class
		code        classify.Code
		want        string
	}{
		{"unknown_table", "select name from nowhere where id = $1", nil, classify.Permanent, "db_schema", "42P01"},
		{"syntax", "select name frum places where id = $1", nil, classify.Permanent, "db_schema", "42601"},
		{"value_of_another_type", "select name from places where n = ($1 || 'x')::integer", nil, classify.Row, "db_data", "22P02"},
		{"division_by_zero", "select 1 / (n - 1) as name from places where id = $1", nil, classify.Row, "db_data", "22012"},
		{"statement_timeout", "select pg_sleep(60)::text as name from places where id = $1", short, classify.RetryBackoff, "timeout", "timeout"}, // the server cancels it, or the client on a slow machine
		{"temp_file_limit", "select count(*) as name from (select md5(g::text || $1) as m from generate_series(1, 200000) g order by m offset 1) s", nil, "", "disk_full", "53400"},
		{"too_many_connections", "select boom('53300') as name from places where id = $1", nil, classify.RetryBackoff, "db_unavailable", "53300"},
		{"nothing_matches", "select name from places where id = $1 || 'x'", nil, classify.Row, classify.CodeForeignKeyUnresolved, "nothing matches"},
		{"too_many_match", "select name from places where id <> $1", nil, classify.Row, classify.CodeForeignKeyUnresolved, "more than 1 rows"},
		{"too_large", "select repeat(name, 1000) as name from places where id = $1", nil, classify.RetryBackoff, classify.CodeBadResponse, "2000 bytes"},
		{"value_is_missing", "select n from places where id = $1", nil, classify.Row, classify.CodeMissingRequired, "no /name"},
	} {
		err := b.steps(c.query, []string{"id"}, c.change).Apply(t.Context(), parcel(), "")
		class := c.class
		if class == "" {
			class = classify.Of(err).Class // the class of disk_full is defined by the taxonomy
		}
		wantFailure(t, err, class, c.code, c.want)
		request, response := exchange(err)
		expect.That(t, strings.HasPrefix(request, `{"step":"place","provider":"place","url":"postgres://`) && strings.Contains(request, "/"+name+`"`) && !strings.Contains(request, "@"), "%v: S2-5: request %s", c.name, request)
		state := fmt.Sprintf(`{"sqlstate":%q}`, c.want)
		expect.That(t, len(c.want) != 5 || response == state, "%v: S2-5: response %s, want %s", c.name, response, state)
	}
	eventually.Until(t.Context(), t, "the end of the statement that took too long", func() (bool, string) {
		n := queryOne[int](b, "select count(*) from pg_stat_activity where application_name = 'switchback' and datname = current_database() and state = 'active'")
		return n == 0, fmt.Sprint(n, " sessions work")
	})
	t.Run("unfit_feature", func(t *testing.T) {
		for arg, code := range map[string]classify.Code{
			"geometry": classify.CodeMissingRequired, "properties.none": classify.CodeMissingRequired, "properties.owner": classify.CodeWrongType,
		} {
			err := b.steps("select name from places where id = $1", []string{arg}, nil).Apply(t.Context(), parcel(), "")
			wantFailure(t, err, classify.Row, code, "request needs")
		}
	})
}

// S3-4: a real deadlock of two sessions. The lookup is the victim, is retried immediately and alone, and succeeds.
func TestSQL_S3_4_aDeadlockIsTriedAgainAtOnce(t *testing.T) {
	b := newDatabase(t)
	steps := b.steps("select p.name from places p join zones z on z.id = p.id where p.id = $1", []string{"id"}, nil)
	b.exec("set deadlock_timeout = '60s'") // so that the lookup is the victim
	other := b.connect()                   // observes, because the test's own session is about to block
	b.exec("begin; lock table zones in access exclusive mode")
	done := make(chan error, 1)
	go func() { done <- steps.Apply(t.Context(), parcel(), "") }()
	watch := &database{t: t, conn: other}
	watch.untilWaits("Lock") // it has locked places and waits for zones
	b.exec("lock table places in access exclusive mode")
	b.exec("rollback")
	expect.Do(t, <-done)
	s := steps.Status()[0]
	expect.That(t, s.Sent == 2 && s.Requests[OutcomePassing] == 1 && s.Requests[OutcomeAnswered] == 1, "status %+v, want a deadlock and an answer", s)
}

func TestSQL_S4_3_aBackendIsTerminated(t *testing.T) {
	b := newDatabase(t)
	steps := b.steps("select pg_sleep($1::float8)::text as name", []string{"properties.wait"}, nil)
	wait := func(seconds int) *transform.Feature {
		return &transform.Feature{Properties: []transform.Member{{Name: "wait", Value: number(seconds)}}}
	}
	done := make(chan error, 1)
	go func() { done <- steps.Apply(t.Context(), wait(60), "") }()
	b.untilWaits("Timeout")
	b.exec("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'switchback' and datname = current_database()")
	wantFailure(t, <-done, classify.RetryBackoff, "db_unavailable", "57P01")
	expect.Do(t, steps.Apply(t.Context(), wait(0), ""), "the next one")
}

// S4-5: a server that is down opens the breaker, and its records are deferred until it is back.
func TestSQL_S4_5_server_gone_and_back(t *testing.T) {
	t.Parallel()
	server := postgis.NeedOwn(t)
	b := &database{t: t, server: server, dsn: server.Database(t)}
	steps := b.steps("select 'Ulm' as name where $1 <> ''", []string{"id"}, func(s *config.EnrichStep) {
		s.SQL.Breaker = &config.Breaker{Failures: 3, Window: config.Duration(time.Minute), Cooldown: config.Duration(100 * time.Millisecond), Successes: 1}
	})
	must.Equal(t, outcome(t.Context(), steps), "ok")
	must.Do(t, server.Crash())
	var got []string
	for range 4 {
		got = append(got, outcome(t.Context(), steps))
	}
	expect.That(t, got[2] == "deferred" && got[3] == "deferred" && steps.Status()[0].Circuit == breaker.StateOpen, "outcomes %v, circuit %s", got, steps.Status()[0].Circuit)
	must.Do(t, server.Restart(t.Context()))
	eventually.Until(t.Context(), t, "the first answer", func() (bool, string) {
		got := outcome(t.Context(), steps)
		return got == "ok", got
	})
}

// S4-5: the server's messages are limited too.
func TestSQL_S4_5_aMessageWithoutEnd(t *testing.T) {
	b := newDatabase(t)
	b.exec("create function shout() returns text language plpgsql as $$ begin raise warning '%', repeat('x', 40000000); return 'Ulm'; end $$")
	err := b.steps("select shout() as name where $1 <> ''", []string{"id"}, nil).Apply(t.Context(), parcel(), "")
	wantFailure(t, err, classify.RetryBackoff, classify.CodeBadResponse, "too large")
}

func TestSQL_faults_of_the_configuration(t *testing.T) {
	for name, c := range map[string]struct{ dsn, want string }{
		"no_dsn":    {"", "ENRICH_TEST_DSN is not set"},
		"odd_dsn":   {"postgres://u:hunter2@[h/x", "does not parse"},
		"odd_value": {"postgres://u:hunter2@h/x?sslmode=hunter2", "does not parse"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("ENRICH_TEST_DSN", c.dsn)
			_, err := newSteps([]config.EnrichStep{{Name: "a", Set: map[string]string{"a": "/a"}, SQL: &config.SQLLookup{
				DSNEnv: "ENRICH_TEST_DSN", Query: "select 1", Timeout: 1e9, MaxConnections: 1, MaxRows: 1, MaxResponseBytes: 1,
			}}}, Options{})
			expect.That(t, err != nil && strings.Contains(err.Error(), c.want) && !strings.Contains(err.Error(), "hunter2"), "got %v", err)
		})
	}
}
