package postgis

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	osexec "os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

// Server is a running PostgreSQL with PostGIS. Database may be called by several goroutines, the other methods by one at
// a time.
type Server struct {
	Addr string // host:port; what a proxy in between has to reach

	dsn     *url.URL // its maintenance database
	why     string   // why this one, for people
	version string   // of PostgreSQL and PostGIS
	own     *cluster // nil for a server of SWITCHBACK_TEST_POSTGIS_DSN
	shared  bool     // by the tests of this process: none of them may stop it

	templating sync.Mutex
	templated  bool // the template database is there
}

// errShared answers a test that wants to stop or start a server of other tests.
var errShared = errors.New("other tests use this server: take one with Own to stop and start it")

// Own starts a server of the test's own, which may be stopped and crashed; it
// does not look at SWITCHBACK_TEST_POSTGIS_DSN.
func Own(ctx context.Context) (*Server, error) {
	ctx, cancel := context.WithTimeout(ctx, testrun.Patient(startBound))
	defer cancel()
	made, err := newCluster(ctx)
	if err != nil {
		return nil, err
	}
	server := &Server{Addr: made.addr, own: made, why: "started here from " + made.bin, dsn: &url.URL{
		Scheme: "postgres", User: url.User(superuser), Host: made.addr, Path: "/postgres", RawQuery: "sslmode=disable",
	}}
	if err := server.Restart(ctx); err != nil {
		_ = made.close()
		return nil, err
	}
	return server, nil
}

// String is the line that a test run prints once.
func (s *Server) String() string {
	return fmt.Sprintf("PostGIS under test: %s at %s (%s)", s.version, s.Addr, s.why)
}

// Owned reports whether Stop, Crash and Restart work: the server belongs to the caller alone.
func (s *Server) Owned() bool { return s.own != nil && !s.shared }

// Stop ends a server that was started here in order: clients are cut off, the
// data are flushed.
func (s *Server) Stop() error { return s.end(fastShutdown) }

// Crash ends it as a power cut does, as far as the data are concerned: nothing is
// flushed, and Restart recovers from the log. SIGKILL is not used for it, since
// then sessions of the dead server may outlive it for a moment and make
// PostgreSQL refuse the folder.
func (s *Server) Crash() error { return s.end(immediateShutdown) }

// Restart starts it again on its data and its address, and returns once it
// answers.
func (s *Server) Restart(ctx context.Context) error {
	if !s.Owned() {
		return errShared
	}
	ctx, cancel := context.WithTimeout(ctx, testrun.Patient(startBound))
	defer cancel()
	if err := s.own.start(); err != nil {
		return err
	}
	exited := s.own.exited // of this start: the next one has another
	go func() {            // no use in waiting for an answer of a process that has ended
		select {
		case <-exited:
			cancel()
		case <-ctx.Done():
		}
	}()
	if err := s.await(ctx); err != nil {
		return fmt.Errorf("%w\n%s", err, s.own.output(4096))
	}
	return nil
}

// Program gives the path of a program of PostgreSQL that came with the server, such as psql.
func (s *Server) Program(name string) (string, error) {
	if s.own != nil {
		if path := filepath.Join(s.own.bin, name); exists(path) {
			return path, nil
		}
	}
	path, err := osexec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("%s is missing (Debian: apt-get install postgresql-client): %w", name, err)
	}
	return path, nil
}

// Close ends the server and removes its folder if it belongs to the caller alone. It leaves the server of
// SWITCHBACK_TEST_POSTGIS_DSN and the one of the process alone.
func (s *Server) Close() error {
	if !s.Owned() {
		return nil
	}
	return s.own.close()
}

func (s *Server) end(how signal) error {
	if !s.Owned() {
		return errShared
	}
	return s.own.end(how)
}

// await returns once the server answers, and notes its version. PostGIS has to be
// among its extensions.
func (s *Server) await(ctx context.Context) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := s.ask(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("no answer from %s: %w (last: %v)", s.Addr, ctx.Err(), err)
		}
	}
}

func (s *Server) ask(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, testrun.Patient(5*time.Second))
	defer cancel()
	db, err := pgx.Connect(ctx, s.dsn.String())
	if err != nil {
		return err
	}
	defer db.Close(ctx)
	return db.QueryRow(ctx, `SELECT 'PostgreSQL ' || current_setting('server_version') || ', PostGIS ' ||
		coalesce((SELECT default_version FROM pg_available_extensions WHERE name = 'postgis'), 'missing')`).Scan(&s.version)
}
