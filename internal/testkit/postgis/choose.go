package postgis

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

// Environment variables that choose the server.
const (
	EnvDSN   = "SWITCHBACK_TEST_POSTGIS_DSN" // postgres://user:password@host:port/database
	EnvForce = "SWITCHBACK_TEST_POSTGIS"     // required, or empty
)

// errAbsent marks a machine without PostGIS. Any other error means that PostGIS is installed and does not work.
var errAbsent = errors.New("not here")

// Time limits for the answer of a running server, and for the creation and start of a server.
const (
	externalBound = 15 * time.Second
	startBound    = 90 * time.Second
)

// Absent reports whether an error of Start means that this machine has no PostGIS to start, rather than a broken one.
func Absent(err error) bool { return errors.Is(err, errAbsent) }

// Forced reports whether the environment demands a real PostGIS.
func Forced() bool { return os.Getenv(EnvForce) == "required" }

// Start returns the server of SWITCHBACK_TEST_POSTGIS_DSN, or starts one and returns when it answers. Close it after
// use.
func Start(ctx context.Context) (*Server, error) {
	if force := os.Getenv(EnvForce); force != "" && force != "required" {
		return nil, fmt.Errorf("%s=%q: use required or nothing", EnvForce, force)
	}
	if dsn := os.Getenv(EnvDSN); dsn != "" {
		return external(ctx, dsn)
	}
	return Own(ctx)
}

// ofProcess is the server that the tests of this process share. It is never closed: the leash ends it with the process.
var ofProcess = sync.OnceValues(func() (*Server, error) {
	server, err := Start(context.Background())
	if err == nil {
		server.shared = true
	}
	return server, err
})

// Need returns the server of SWITCHBACK_TEST_POSTGIS_DSN, or one that all tests of the process share. It skips the test
// with the reason if the machine has no PostGIS and none is demanded.
func Need(t testing.TB) *Server {
	t.Helper()
	server, err := ofProcess()
	OrSkip(t, err)
	t.Log(server)
	return server
}

// NeedOwn returns a server that only this test uses, and that it may stop. It closes the server when the test ends.
func NeedOwn(t testing.TB) *Server {
	t.Helper()
	server, err := Own(t.Context())
	OrSkip(t, err)
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Errorf("close %s: %v", server, err)
		}
	})
	return server
}

// OrSkip fails the test for an error of Start or Own. It skips the test if the machine has no PostGIS and none is
// demanded.
func OrSkip(t testing.TB, err error) {
	t.Helper()
	switch {
	case err == nil:
	case Absent(err) && !Forced():
		t.Skipf("no PostGIS on this machine (%s=required makes this a failure): %v", EnvForce, err)
	default:
		t.Fatalf("PostGIS: %v", err)
	}
}

func external(ctx context.Context, dsn string) (*Server, error) {
	parsed, err := url.Parse(dsn)
	if err != nil || parsed.Host == "" {
		return nil, fmt.Errorf("%s is not an address of the form postgres://user:password@host:port/database", EnvDSN)
	}
	ctx, cancel := context.WithTimeout(ctx, testrun.Patient(externalBound))
	defer cancel()
	server := &Server{Addr: parsed.Host, dsn: parsed, why: EnvDSN + " is set"}
	if err := server.await(ctx); err != nil {
		return nil, fmt.Errorf("%s, server %s: %w", EnvDSN, parsed.Host, err)
	}
	return server, nil
}
