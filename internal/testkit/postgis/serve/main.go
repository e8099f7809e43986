// Command serve starts a PostgreSQL server with PostGIS for a test run and writes its DSN to a file. It stops the server
// and removes its folder on SIGTERM or SIGINT, and when it is killed.
//
// Usage: serve FILE. Start it in the background, wait for FILE, and set SWITCHBACK_TEST_POSTGIS_DSN to its content.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/switchback-geo/switchback/internal/testkit/postgis"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: serve FILE")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := serve(ctx, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "serve:", err)
		os.Exit(1) //nolint:gocritic // the deferred stop only unregisters the signals
	}
}

// serve runs the server until ctx ends. The file appears under its name when the server answers and has the template.
func serve(ctx context.Context, file string) error {
	server, err := postgis.Own(ctx)
	if err != nil {
		return err
	}
	draft := file + ".draft"
	dsn, err := server.Prepare(ctx)
	if err == nil {
		err = os.WriteFile(draft, []byte(dsn+"\n"), 0o600)
	}
	if err == nil {
		err = os.Rename(draft, file)
	}
	if err == nil {
		fmt.Fprintln(os.Stderr, server)
		<-ctx.Done()
	}
	return errors.Join(err, server.Close())
}
