package sink

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/breaker"
	"github.com/switchback-geo/switchback/internal/testkit/eventually"
	check "github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/postgis"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// shortCooldown sets a short cooldown. The timeout is long for a test's statement and short for one that waits for a
// lock.
const shortCooldown = ", timeout: 8s, breaker: {preset: standard, cooldown: 100ms, successes: 1}"

// wantHold checks that a record waits for a dependency.
func wantDeferral(t *testing.T, err error, dependency, want string) {
	t.Helper()
	deferred, is := errors.AsType[*retrytopics.UnavailableError](err)
	check.That(t, is && deferred.Dependency == dependency && strings.Contains(err.Error(), want), "got %v, want it deferred for %s with %q", err, dependency, want)
}

// untilWritten repeats the write, like the engine's probes. Every failure must be a deferral.
func (b *fixture) untilWritten(what string, rows ...*Row) {
	b.t.Helper()
	eventually.Until(b.t.Context(), b.t, what, func() (bool, string) {
		err := b.write(rows...)
		must.That(b.t, err == nil || isDeferral(err), "%s: %v", what, err)
		return err == nil, fmt.Sprint(err)
	})
}

// S3-5, S4-3: faults of the table, the login, the privileges and the disk pause all records at the first failure,
// without using attempts. Writing continues on its own once the fault is fixed.
func TestSink_S3_5_S4_3_faultsOfTheTablePause(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ fault, fix, want string }{
		"renamed":           {"alter table parcels rename to archive", "alter table archive rename to parcels", "parcels does not exist"},
		"guard renamed":     {"alter table parcels_switchback rename to g", "alter table g rename to parcels_switchback", "guard parcels_switchback does not exist"},
		"schema renamed":    {"alter schema public rename to other; create schema public", "drop schema public; alter schema other rename to public", ""},
		"key renamed":       {"alter table parcels rename id to key", "alter table parcels rename key to id", `column "id" does not exist`},
		"geometry renamed":  {"alter table parcels rename geom to shape", "alter table parcels rename shape to geom", `column "geom" does not exist`},
		"no unique key":     {"alter table parcels drop constraint parcels_pkey", "alter table parcels add primary key (id)", `column "id" is not unique`},
		"SRID":              {"alter table parcels drop constraint enforce_srid_geom, alter geom type geometry(Geometry, 25832) using st_transform(geom, 25832)", "alter table parcels alter geom type geometry(Geometry, 4326) using st_transform(geom, 4326)", "has SRID 25832"},
		"SRID by check":     {"alter table parcels drop constraint enforce_srid_geom; update parcels set geom = st_transform(geom, 25832); alter table parcels add constraint c check (st_srid(geom) = 25832)", "alter table parcels drop constraint c; update parcels set geom = st_transform(geom, 4326)", "has SRID 25832"},
		"measures":          {"alter table parcels alter geom type geometry(GeometryM, 4326) using st_force3dm(geom)", "alter table parcels alter geom type geometry using st_force2d(geom)", "wants measures (M)"},
		"NOLOGIN":           {"alter role WRITER nologin", "alter role WRITER login", "not permitted to log in"},
		"no CONNECT":        {"revoke connect on database BASE from public, WRITER", "grant connect on database BASE to WRITER", "permission denied"},
		"privilege":         {"revoke insert on parcels from WRITER", "grant insert on parcels to WRITER", `this user lacks insert on "parcels"`},
		"guard's privilege": {"revoke update on parcels_switchback from WRITER", "grant update on parcels_switchback to WRITER", `lacks update on "parcels_switchback"`},
		"temporary tables":  {"revoke temporary on database BASE from public, WRITER", "grant temporary on database BASE to WRITER", "lacks temporary on database"},
		"schema privilege":  {"revoke usage on schema public from public, WRITER", "grant usage on schema public to WRITER", ""},
		"disk full":         {raiseTrigger("53100"), dropTrigger, "53100"},
		"needs a value":     {"alter table parcels add must text; update parcels set must = ''; alter table parcels alter must set not null", "alter table parcels drop must", ""},
		"locked":            {"begin; lock table parcels in share mode", "commit", "is locked as a whole"},
		"guard locked":      {"begin; lock table parcels_switchback in access exclusive mode", "commit", "is locked as a whole"},
	} {
		t.Run(name, func(t *testing.T) {
			b := parallelFixture(t, shortCooldown)
			role := b.role("select, insert, update, delete")
			b.connectAs(role).reopen()
			statements := strings.NewReplacer("WRITER", role, "BASE", b.db.Config().Database)
			if name == "needs a value" {
				b.plain.expected.others = false // unmapped: drop
				c.want = `column "must" must have a value`
			}
			b.must(b.row("a", 0, 1, `{"name":"before"}`, point))
			b.exec(statements.Replace(c.fault))
			if strings.Contains(name, "LOGIN") || strings.Contains(name, "CONNECT") {
				b.exec("select pg_terminate_backend(pid) from pg_stat_activity where usename = '" + role + "'")
			}
			after := b.row("a", 0, 2, `{"name":"after"}`, point)
			b.wantPaused(c.want, after)
			before := b.Status().Batches
			wantDeferral(t, b.write(after), Dependency, "")
			attempts := b.Status().Batches - before
			check.That(t, attempts <= 1, "%d statements while everything waits", attempts)
			b.exec(statements.Replace(c.fix))
			b.untilWritten("the write", after)
			got := b.query("select name from parcels")
			check.That(t, got == "after" && b.Status().Circuit == breaker.StateClosed, "the table has %s, and the breaker is %s", got, b.Status().Circuit)
		})
	}
}

// wantPaused writes a record and checks that it waits. A terminated connection may cause one transient failure before
// that.
func (b *fixture) wantPaused(want string, r *Row) {
	b.t.Helper()
	err := b.write(r)
	if err != nil && !isDeferral(err) && classify.Of(err).Transient() {
		err = b.write(r)
	}
	wantDeferral(b.t, err, Dependency, want)
}

func raiseTrigger(state string) string {
	return "create function f() returns trigger language plpgsql as $$ begin raise 'no' using errcode = '" + state + "'; end $$; create trigger f before insert on parcels for each row execute function f()"
}

const dropTrigger = "drop trigger f on parcels; drop function f()"

// S3-5: a changed password pauses the records, and the new password is read from its file without a restart.
func TestSink_S3_5_aPasswordIsReplaced(t *testing.T) {
	t.Parallel()
	server := postgis.NeedOwn(t)
	b := newFixture(t, server, shortCooldown)
	role := b.role("select, insert, update, delete")
	b.demandPasswords(role)
	file := filepath.Join(t.TempDir(), "dsn")
	secret := func(password string) {
		at := b.db.Config()
		text := fmt.Sprintf("user=%s password=%s host=%s port=%d dbname=%s", role, password, at.Host, at.Port, at.Database)
		must.Do(t, os.WriteFile(file, []byte(text), 0o600))
	}
	secret("first")
	b.cfg.Sink.PostGIS.DSNEnv, b.cfg.Sink.PostGIS.DSNFile = "", file
	b.reopen()
	b.must(b.row("a", 0, 1, `{"name":"before"}`, point))
	b.exec("alter role " + role + " password 'second'")
	b.exec("select pg_terminate_backend(pid) from pg_stat_activity where usename = '" + role + "'")
	after := b.row("a", 0, 2, `{"name":"after"}`, point)
	b.wantPaused("28P01", after)
	for what, write := range map[string]func() error{
		"while the file is away": func() error { return os.Remove(file) },
		"while it is empty":      func() error { return os.WriteFile(file, nil, 0o600) },
	} {
		must.Do(t, write())
		eventually.Until(t.Context(), t, what, func() (bool, string) {
			err := b.write(after)
			must.That(t, isDeferral(err), "%s: %v", what, err)
			return strings.Contains(err.Error(), "sink.postgis.dsn"), err.Error()
		})
	}
	secret("second")
	b.untilWritten("the new password", after)
	check.Do(t, b.write(b.row("b", 0, 3, `{"name":"x"}`, point)))
}

// S4-3: a fault that affects only some records lets the others pass: heights, a property without a column, or a column
// type that accepts no value of the property.
func TestSink_S4_3_aFaultOfSomeRecordsPausesThose(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ fault, fix, properties, geometry, dependency, want string }{
		"heights": {
			"alter table parcels drop constraint enforce_srid_geom, alter geom type geometry(Geometry, 4326)", "alter table parcels alter geom type geometry",
			`{}`, `{"type":"Point","coordinates":[1,2,3]}`, "sink/geom", "accepts no heights",
		},
		"a column": {"alter table parcels drop area", "alter table parcels add area float8", `{"area":1.5}`, point, "sink/area", `column "area" does not exist`},
		"a type":   {"alter table parcels alter area type boolean using null", "alter table parcels alter area type float8 using null", `{"area":1.5}`, point, "sink/area", "accepts no value of type number"},
	} {
		t.Run(name, func(t *testing.T) {
			b := parallelFixture(t, shortCooldown)
			b.must(b.row("a", 0, 1, `{}`, point))
			b.exec(c.fault)
			unfit := b.row("unfit", 0, 3, c.properties, c.geometry)
			answers := b.writeBatch(b.row("a", 0, 2, `{"name":"x"}`, point), unfit, b.row("c", 0, 4, `{"area":null}`, point))
			check.That(t, answers[0] == nil && answers[2] == nil, "the others: %v, %v", answers[0], answers[2])
			wantDeferral(t, answers[1], c.dependency, c.want)
			check.That(t, b.Status().Circuit == breaker.StateClosed, "the breaker is %s", b.Status().Circuit)
			b.exec(c.fix)
			b.untilWritten("the write", unfit)
		})
	}
}

// S4-3: a locked row delays only its own record.
func TestSink_S4_3_aLockedRowWaitsAlone(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"select from parcels where id = 'k7' for update", "select from parcels_switchback where key = 'k7' for update"} {
		b := newFixture(t, postgis.Need(t), shortCooldown)
		var rows []*Row
		for i := range 100 {
			rows = append(rows, b.row(fmt.Sprint("k", i), 0, 1, `{"name":"before"}`, point))
		}
		b.must(rows...)
		b.exec("begin; " + at)
		for i, r := range rows {
			rows[i] = b.row(string(r.Key), 0, 2, `{"name":"after"}`, point)
		}
		statements := b.Status().Batches
		for i, err := range b.writeBatch(rows...) {
			check.That(t, (err != nil) == (i == 7), "record %d: %v", i, err)
			f := classify.Of(err)
			check.That(t, i != 7 || f.Transient() && f.Code == classify.CodeTimeout && strings.Contains(err.Error(), "locked by another transaction"), "the locked row is answered with %s: %v", f.Code, err)
		}
		n := b.Status().Batches - statements
		check.That(t, n <= 2, "%d statements for one locked row", n)
		b.exec("commit")
		b.must(rows[7])
		check.Equal(t, b.query("select count(*) from parcels where name = 'after'"), "100")
	}
}

// S4-3: the same applies to a row whose key another transaction has inserted without a commit, and to a row with a
// slow trigger: the batch is divided.
func TestSink_S4_3_aBatchThatTimesOutIsDivided(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]string{
		"inserted": "begin; insert into parcels (id) values ('k7')",
		"slow":     "create function f() returns trigger language plpgsql as $$ begin if new.id = 'k7' then perform pg_sleep(60); end if; return new; end $$; create trigger f before insert on parcels for each row execute function f()",
	} {
		t.Run(name, func(t *testing.T) {
			b := parallelFixture(t, ", timeout: 4s, breaker: {preset: standard, failures: 50, cooldown: 100ms, successes: 1}")
			b.exec(fault)
			var rows []*Row
			for i := range 10 {
				rows = append(rows, b.row(fmt.Sprint("k", i), 0, 1, `{"name":"x"}`, point))
			}
			for i, err := range b.writeBatch(rows...) {
				check.That(t, (err != nil) == (i == 7) && (i != 7 || classify.Of(err).Code == classify.CodeTimeout), "record %d: %v", i, err)
			}
		})
	}
}

// S4-3: an unexplained failure is a record's own if others succeed (a row that a policy forbids), and the table's if
// none succeeds (a trigger whose function is missing). Neither causes wrong dead letters.
func TestSink_S4_3_whatNothingExplainsIsProvenFirst(t *testing.T) {
	t.Parallel()
	t.Run("a policy", func(t *testing.T) {
		b := parallelFixture(t, shortCooldown)
		role := b.role("select, insert, update, delete")
		b.exec("alter table parcels enable row level security; create policy own on parcels to " + role + " using (true) with check (name <> 'secret')")
		b.connectAs(role).reopen()
		answers := b.writeBatch(b.row("a", 0, 1, `{"name":"x"}`, point), b.row("b", 0, 2, `{"name":"secret"}`, point), b.row("c", 0, 3, `{"name":"x"}`, point))
		check.That(t, answers[0] == nil && answers[2] == nil, "the others: %v, %v", answers[0], answers[2])
		f := classify.Of(answers[1])
		check.That(t, !isDeferral(answers[1]) && f.Code == classify.CodeDBAccess, "the forbidden row: %v", answers[1])
		alone := b.row("d", 0, 4, `{"name":"secret"}`, point)
		wantDeferral(t, b.write(alone), Dependency, "row-level security") // no record has passed since
		b.must(b.row("e", 0, 5, `{"name":"x"}`, point))
		err := b.write(alone)
		check.That(t, !isDeferral(err) && classify.Of(err).Code == classify.CodeDBAccess, "once another has passed: %v", err)
	})
	t.Run("a trigger", func(t *testing.T) {
		b := parallelFixture(t, shortCooldown)
		b.exec("create function g() returns int language sql as 'select 1'; create function f() returns trigger language plpgsql as $$ begin perform g(); return new; end $$; create trigger f before insert on parcels for each row execute function f()")
		b.must(b.row("a", 0, 1, `{"name":"x"}`, point))
		b.exec("drop function g")
		var rows []*Row
		for i := range 64 {
			rows = append(rows, b.row(fmt.Sprint("k", i), 0, int64(i), `{"name":"x"}`, point))
		}
		statements := b.Status().Batches
		for range 3 {
			for i, err := range b.writeBatch(rows...) {
				must.That(t, isDeferral(err), "record %d is not deferred: %v", i, err)
			}
		}
		n := b.Status().Batches - statements
		check.That(t, n <= 60, "%d statements for a table that accepts nothing", n)
		b.exec("create function g() returns int language sql as 'select 1'")
		for _, r := range rows {
			b.untilWritten("the write", r)
		}
	})
}
