package enrich

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/pkg/classify"
)

// TestPool_limits_requests_at_once lets the limit of requests meet in the server and proves that no further one comes.
func TestPool_limits_requests_at_once(t *testing.T) {
	const limit, callers = 3, 12
	var inside, peak atomic.Int32
	meeting := make(chan struct{}) // closed once the server has as many requests as may be
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		n := inside.Add(1)
		defer inside.Add(-1)
		for old := peak.Load(); n > old && !peak.CompareAndSwap(old, n); old = peak.Load() {
		}
		if n == limit {
			select {
			case <-meeting:
			default:
				close(meeting)
			}
		}
		<-meeting
		_, _ = io.WriteString(w, `{"name":"Ulm"}`)
	})
	steps := make1(t, stepOf(server.URL, func(s *config.EnrichStep) { s.HTTP.MaxConnections = limit }))
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			if err := steps.Apply(t.Context(), parcel(), ""); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if peak.Load() != limit {
		t.Errorf("%d requests at once, want %d", peak.Load(), limit)
	}
}

func TestPool_waiting_ends_with_the_context(t *testing.T) {
	steps := make1(t, stepOf("http://127.0.0.1:1/", func(s *config.EnrichStep) { s.HTTP.MaxConnections = 1 }))
	steps.steps[0].providers[0].turns <- struct{}{} // somebody else has the only connection
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	wantFailure(t, steps.Apply(ctx, parcel(), ""), classify.RetryBackoff, classify.CodeCanceled, "wait for one of 1 connections")
}

// TestPool_keeps_its_connection proves that neither success nor failure with a long text costs a new connection.
func TestPool_keeps_its_connection(t *testing.T) {
	var connections, asked atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1)%2 == 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, strings.Repeat("busy ", 5000))
			return
		}
		_, _ = io.WriteString(w, `{"name":"Ulm"}`)
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	steps := make1(t, stepOf(server.URL, nil))
	for range 10 {
		_ = steps.Apply(t.Context(), parcel(), "")
	}
	if asked.Load() != 10 || connections.Load() != 1 {
		t.Errorf("%d requests took %d connections", asked.Load(), connections.Load())
	}
}
