package postgis

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"testing"
	"time"
)

// Environment variables that choose the server.
const (
	EnvDSN   = "SWITCHBACK_TEST_POSTGIS_DSN" // postgres://user:password@host:port/database
	EnvForce = "SWITCHBACK_TEST_POSTGIS"     // required, or empty
)

// errAbsent marks a machine that has no PostGIS. Any other error means that it
// is there and does not work.
var errAbsent = errors.New("not here")

// bounds of a start: of one that is there already, and of one that first has to
// be made.
const (
	externalBound = 15 * time.Second
	startBound    = 90 * time.Second
)

// Absent reports whether an error of Start means that this machine has no PostGIS
// that could be started, rather than that it does not work.
func Absent(err error) bool { return errors.Is(err, errAbsent) }

// Forced reports whether the environment demands a real PostGIS.
func Forced() bool { return os.Getenv(EnvForce) == "required" }

// Start returns the server of SWITCHBACK_TEST_POSTGIS_DSN, or else one that it
// starts, once it answers. Close it.
func Start(ctx context.Context) (*Server, error) {
	if force := os.Getenv(EnvForce); force != "" && force != "required" {
		return nil, fmt.Errorf("%s=%q: say required or nothing", EnvForce, force)
	}
	if dsn := os.Getenv(EnvDSN); dsn != "" {
		return external(ctx, dsn)
	}
	return Own(ctx)
}

// Need is Start for one test: it ends the server with the test, and skips the
// test with the reason where there is none and none is demanded.
func Need(t testing.TB) *Server {
	t.Helper()
	server, err := Start(t.Context())
	OrSkip(t, err)
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Errorf("close %s: %v", server, err)
		}
	})
	t.Log(server)
	return server
}

// OrSkip fails the test for an error of Start or Own, or skips it when the
// machine has no PostGIS and none is demanded.
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
		return nil, fmt.Errorf("%s is no address of the form postgres://user:password@host:port/database", EnvDSN)
	}
	ctx, cancel := context.WithTimeout(ctx, externalBound)
	defer cancel()
	server := &Server{Addr: parsed.Host, dsn: parsed, why: EnvDSN + " is set"}
	if err := server.await(ctx); err != nil {
		return nil, fmt.Errorf("%s, server %s: %w", EnvDSN, parsed.Host, err)
	}
	return server, nil
}
