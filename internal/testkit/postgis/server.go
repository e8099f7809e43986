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
	Addr string // host:port, for a proxy

	dsn     *url.URL // of its maintenance database
	why     string   // why this server was chosen
	version string   // of PostgreSQL and PostGIS
	own     *cluster // nil for a server of SWITCHBACK_TEST_POSTGIS_DSN
	shared  bool     // by the tests of this process, so none of them may stop it

	templating sync.Mutex
	templated  bool // the template database exists
}

// errShared is the error of stopping or starting a server that other tests use.
var errShared = errors.New("other tests use this server: start one with Own to stop and start it")

// Own starts a server for one test, which may stop and crash it. It ignores SWITCHBACK_TEST_POSTGIS_DSN.
func Own(ctx context.Context) (*Server, error) {
	ctx, cancel := context.WithTimeout(ctx, testrun.Patient(startBound))
	defer cancel()
	created, err := newCluster(ctx)
	if err != nil {
		return nil, err
	}
	server := &Server{Addr: created.addr, own: created, why: "started here from " + created.bin, dsn: &url.URL{
		Scheme: "postgres", User: url.User(superuser), Host: created.addr, Path: "/postgres", RawQuery: "sslmode=disable",
	}}
	if err := server.Restart(ctx); err != nil {
		_ = created.close()
		return nil, err
	}
	return server, nil
}

// String returns the line that a test run prints once.
func (s *Server) String() string {
	return fmt.Sprintf("PostGIS under test: %s at %s (%s)", s.version, s.Addr, s.why)
}

// Owned reports whether Stop, Crash and Restart work, because the server belongs to one test.
func (s *Server) Owned() bool { return s.own != nil && !s.shared }

// Stop shuts an own server down: it disconnects clients and flushes the data.
func (s *Server) Stop() error { return s.end(fastShutdown) }

// Crash ends the server without flushing, as a power cut does, so that Restart recovers from the log. It does not use
// SIGKILL: sessions of the killed server could survive for a moment and make PostgreSQL refuse the folder.
func (s *Server) Crash() error { return s.end(immediateShutdown) }

// Restart starts the server again with its data and address, and returns when it answers.
func (s *Server) Restart(ctx context.Context) error {
	if !s.Owned() {
		return errShared
	}
	ctx, cancel := context.WithTimeout(ctx, testrun.Patient(startBound))
	defer cancel()
	if err := s.own.start(); err != nil {
		return err
	}
	exited := s.own.exited // of this start, because the next one replaces it
	go func() {            // a process that has exited never answers
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

// Program returns the path of a program of the server's PostgreSQL, such as psql.
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

// Close ends the server and removes its folder if it belongs to the caller alone. It does not end the server of
// SWITCHBACK_TEST_POSTGIS_DSN or the shared one of the process.
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

// await waits until the server answers, and stores its version. PostGIS must be one of its extensions.
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
