package app_test

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
)

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
			}, `pipeline:
  id: parcels
  retry_policy: { max_attempts: 5, base_delay_seconds: 60, tiers: [1m], retryable_status_codes: [503] }
  tolerance: { max_null_rate: 1, max_transient_rate: 1, halt_on_geometry_invalid: false }
kafka: { brokers: [%q] }
metrics: { listen: "" }
enrich:
  - { name: place, http: { url: "%s/?id={id}", allow_private: true }, set: { place: /name } }
`)
			var features []string
			for i := range 400 {
				features = append(features, fmt.Sprintf(`{"type":"Feature","id":"%d","geometry":{"type":"Point","coordinates":[1,2]},"properties":{}}`, i))
			}
			s.send(features...)
			c := s.consumer()
			if err := c.Run(ctx); err != nil {
				t.Fatal(err)
			}
			sum := c.Summary()
			if sum.Status != "interrupted" || sum.Consumed == 0 || sum.Retried == 0 || sum.Consumed != sum.Delivered+sum.Waiting {
				t.Errorf("does not balance: %+v", sum)
			}
		})
	}
}
