package chromium

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

// EnvForce is the variable that makes a missing browser a failure when it is "required".
const EnvForce = "SWITCHBACK_TEST_CHROMIUM"

// bound limits what one test does in a browser, on an idle machine.
const bound = 30 * time.Second

// Browser is a running Chromium. One goroutine uses it.
type Browser struct {
	t    testing.TB
	ctx  context.Context
	wire *wire
}

// Start starts a browser that ends with the test.
func Start(t testing.TB) *Browser {
	t.Helper()
	program, err := find()
	if err != nil {
		if os.Getenv(EnvForce) == "required" {
			t.Fatal(err)
		}
		t.Skipf("NOT RUN: %v; %s=required makes this a failure", err, EnvForce)
	}
	ctx, cancel := context.WithTimeout(t.Context(), testrun.Patient(bound))
	t.Cleanup(cancel)
	wire, err := dial(program, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(wire.close)
	return &Browser{t: t, ctx: ctx, wire: wire}
}

// find returns the program of the browser.
func find() (string, error) {
	var err error
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		var path string
		if path, err = exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", &absentError{err}
}

// absentError means that the machine has no browser, and suggests how to install one.
type absentError struct{ err error }

func (e *absentError) Error() string {
	return "there is no Chromium on this machine (Debian: apt-get install chromium): " + e.err.Error()
}

func (e *absentError) Unwrap() error { return e.err }

// arguments returns the arguments of the program. The sandbox needs a user other than root, and the pages come from the
// test itself.
func arguments(profile string) []string {
	return []string{
		"--headless", "--remote-debugging-pipe", "--user-data-dir=" + profile, "--no-sandbox", "--no-first-run", "--disable-gpu", "--disable-quic", "--hide-scrollbars",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions", "--disable-dev-shm-usage",
		"--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "about:blank",
	}
}
