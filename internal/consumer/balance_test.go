package consumer_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/switchback-geo/switchback/internal/consumer"
	"github.com/switchback-geo/switchback/internal/testkit/eventually"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// waitsLong is a pipeline whose failed records wait for a minute.
const waitsLong = `pipeline:
  id: parcels
  retry_policy: { max_attempts: 5, base_delay_seconds: 60, tiers: [1m], retryable_status_codes: [503] }
  tolerance: { max_null_rate: 1, max_transient_rate: 1, halt_on_geometry_invalid: false }
kafka: { brokers: [%q] }
metrics: { listen: "" }
enrich:
  - { name: place, http: { url: "%s/?id={id}", allow_private: true }, set: { place: /name } }
`

// points are n features.
func points(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf(`{"type":"Feature","id":"%d","geometry":{"type":"Point","coordinates":[1,2]},"properties":{}}`, i)
	}
	return out
}

// S4-12: wherever a run is interrupted, its summary accounts for every record that it took, those too that its last
// transactions put into a tier.
func TestSummary_S4_12_balancesWhereverTheRunIsInterrupted(t *testing.T) {
	for _, requests := range []int64{10, 100, 300, 390} {
		t.Run(fmt.Sprint(requests), func(t *testing.T) {
			t.Parallel()
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			var asked atomic.Int64
			s := newScene(t, func(w http.ResponseWriter, _ *http.Request) {
				n := asked.Add(1)
				if n == requests {
					stop()
				}
				if n%2 == 0 {
					http.Error(w, "down", http.StatusServiceUnavailable)
					return
				}
				_, _ = w.Write([]byte(`{"name":"Ulm"}`))
			}, waitsLong)
			s.send(points(400)...)
			c := s.consumer()
			must.Do(t, c.Run(ctx))
			sum := c.Summary()
			if sum.Status != "interrupted" || sum.Consumed == 0 || sum.Retried == 0 || sum.Consumed != sum.Delivered+sum.Waiting {
				t.Errorf("does not balance: %+v", sum)
			}
		})
	}
}

// Between two sessions, and when the brokers are gone, the summary still knows what waited.
func TestSummary_S4_12_knowsWhatWaitedWhenTheBrokersAreGone(t *testing.T) {
	t.Parallel()
	s := newScene(t, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "down", http.StatusServiceUnavailable) }, waitsLong)
	s.send(points(50)...)
	c := s.consumer()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	eventually.Until(ctx, t, "all in the tier", func() (bool, string) {
		n := c.Progress().Retried
		return n == 50, fmt.Sprint(n)
	})
	s.broker.Close()
	eventually.Until(ctx, t, "the end of the session", func() (bool, string) {
		log := s.log.String()
		return strings.Contains(log, "session ended"), log
	})
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if sum := c.Summary(); sum.Status != consumer.StatusInterrupted || sum.Consumed != 50 || sum.Waiting != 50 {
		t.Errorf("does not balance: %+v", sum)
	}
}
