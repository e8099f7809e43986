package main

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// A container asks whether its instance is ready, also where that listens at all addresses.
func TestHealth(t *testing.T) {
	t.Parallel()
	why := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/readyz" || why != "" {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		_, _ = w.Write([]byte(why + "\n"))
	}))
	defer server.Close()
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	must.Do(t, err)
	for _, c := range []struct {
		address, why string
		code         cli.Exit
		says         string
	}{
		{address: "127.0.0.1:" + port},
		{address: "0.0.0.0:" + port},
		{address: ":" + port},
		{address: "127.0.0.1:" + port, why: "no member of its group", code: 1, says: "not ready: no member of its group"},
		{address: "127.0.0.1:1", code: 1, says: "does not answer"},
		{address: "nonsense", code: 2, says: "is not host:port"},
		{address: "", code: 2, says: "metrics.listen"},
	} {
		why = c.why
		err := ready(t.Context(), c.address, io.Discard)
		expect.That(t, exitCode(err) == c.code && (err == nil || strings.Contains(err.Error(), c.says)), "%+v: %v", c, err)
	}
}
