package postgis

import (
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

func TestStart_refuses_an_unknown_word(t *testing.T) {
	t.Setenv(EnvForce, "yes")
	if _, err := Start(t.Context()); err == nil || !strings.Contains(err.Error(), "say required or nothing") {
		t.Errorf("error %v", err)
	}
}

func TestStart_never_replaces_a_server_that_was_named(t *testing.T) {
	t.Setenv(EnvForce, "")
	t.Setenv(EnvDSN, "a text")
	if _, err := Start(t.Context()); err == nil || Absent(err) {
		t.Errorf("error %v, want one that is not about a missing PostGIS", err)
	}
}

func TestOwn_is_absent_where_nothing_is_installed(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if bin, err := pathBin(); !Absent(err) {
		t.Errorf("found %q, error %v", bin, err)
	}
}

func TestNeed_gives_each_test_a_database_with_PostGIS(t *testing.T) {
	server := Need(t)
	first, second := server.Database(t), server.Database(t)
	if first == second {
		t.Errorf("one database for two: %s", first)
	}
	if Need(t) != server || server.Owned() || server.Stop() == nil {
		t.Error("a test can stop the server of the others")
	}
	var valid bool
	if ask(t, first, `SELECT ST_IsValid('POLYGON((0 0,1 1,1 0,0 1,0 0))'::geometry)`, &valid); valid {
		t.Error("PostGIS calls a bow-tie valid")
	}
}

// What a test of the sink or of a lookup rests on: after a crash the committed
// rows are there, on the same address, and nothing is left in the end.
func TestOwn_recovers_from_a_crash_on_its_address(t *testing.T) {
	server, err := Own(t.Context())
	OrSkip(t, err)
	dsn := server.Database(t)
	ask(t, dsn, `CREATE TABLE kept AS SELECT 7 AS n; SELECT n FROM kept`, new(int))
	if err := server.Crash(); err != nil {
		t.Fatal(err)
	}
	if db, err := pgx.Connect(t.Context(), dsn); err == nil {
		_ = db.Close(t.Context())
		t.Fatal("it answers after a crash")
	}
	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	var n int
	if ask(t, dsn, `SELECT n FROM kept`, &n); n != 7 {
		t.Errorf("read %d, want 7", n)
	}
	if err := server.Stop(); err != nil {
		t.Error(err)
	}
	if err := server.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(server.own.dir); !os.IsNotExist(err) {
		t.Errorf("the folder is still there: %v", err)
	}
}

// ask runs statements, of which the last returns one value.
func ask(t *testing.T, dsn, sql string, into any) {
	t.Helper()
	db, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close(t.Context())
	before, last, found := cutLast(sql)
	if found {
		if _, err := db.Exec(t.Context(), before); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.QueryRow(t.Context(), last).Scan(into); err != nil {
		t.Fatal(err)
	}
}

func cutLast(sql string) (before, last string, found bool) {
	i := strings.LastIndex(sql, ";")
	if i < 0 {
		return "", sql, false
	}
	return sql[:i], sql[i+1:], true
}
