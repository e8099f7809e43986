package enrich

import (
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/switchback-geo/switchback/internal/config"
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
