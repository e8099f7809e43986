package postgis

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/postgis"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

var seedFlag = flag.Uint64("postgis.seed", 0, "seed of the random geometries; 0: that of SWITCHBACK_TEST_SEED")

// shared is the server of all tests, which the first that asks starts.
var shared struct {
	sync.Once
	server *postgis.Server
	err    error
}

func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	if shared.server != nil {
		if err := shared.server.Close(); err != nil {
			fmt.Fprintln(os.Stderr, "integration/postgis:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// database is a connection to a database of the test's own, or skips the test
// where there is no PostGIS and none is demanded.
func database(t *testing.T) *pgx.Conn {
	t.Helper()
	shared.Do(func() {
		if shared.server, shared.err = postgis.Start(t.Context()); shared.err == nil {
			fmt.Println(shared.server)
		}
	})
	postgis.OrSkip(t, shared.err)
	db := must.Get(pgx.Connect(t.Context(), shared.server.Database(t)))(t)
	t.Cleanup(func() {
		if err := db.Close(context.WithoutCancel(t.Context())); err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	return db
}

// seed returns the seed of the flag, or that of the test run.
func seed(t *testing.T) uint64 {
	t.Helper()
	if *seedFlag != 0 {
		return *seedFlag
	}
	return testrun.Seed(t)
}

// sized returns how many geometries a test draws: 200 in the gate, n in the tier nightly.
func sized(t *testing.T, n int) int {
	t.Helper()
	if testrun.IsNightly(t) || *countFlag > 0 {
		return n
	}
	return 200
}
