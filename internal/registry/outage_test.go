package registry

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// An outage is not a data error: after a few requests without an answer, records are held, and the registry is left in
// peace. What is known goes on; and the first answer ends the hold.
func TestSchemaByID_anOutageHoldsRecords(t *testing.T) {
	var asked atomic.Int64
	var down atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		if down.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte(`{"schema":"\"long\""}`))
	}))
	t.Cleanup(server.Close)
	const failures = 4
	c := client(t, Options{URLs: []string{server.URL}, OutageFailures: failures, OutagePause: time.Hour})
	must.Get(c.SchemaByID(t.Context(), 1))(t)
	down.Store(true)
	var held *retrytopics.UnavailableError
	for i := 1; i <= failures; i++ {
		_, err := c.SchemaByID(t.Context(), 7)
		if errors.As(err, &held) != (i == failures) || classify.Of(err).Code != classify.CodeRegistryUnavailable {
			t.Fatalf("request %d: %v", i, err)
		}
	}
	before := asked.Load()
	for _, ask := range []func() error{
		func() error { _, err := c.SchemaByID(t.Context(), 8); return err },
		func() error { _, err := c.Register(t.Context(), "parcels-value", parcel); return err },
	} {
		if err := ask(); !errors.As(err, &held) || held.Dependency == "" || time.Until(held.RetryAt) <= 0 {
			t.Errorf("got %v", err)
		}
	}
	if _, err := c.SchemaByID(t.Context(), 1); err != nil || asked.Load() != before {
		t.Errorf("a schema that is known: %v; asked %d times in the outage", err, asked.Load()-before)
	}
	down.Store(false)
	c.outage.mu.Lock()
	c.outage.until = time.Now()
	c.outage.mu.Unlock()
	for _, id := range []int{7, 8} {
		if _, err := c.SchemaByID(t.Context(), id); err != nil {
			t.Errorf("after the outage: %v", err)
		}
	}
}
