package consumer_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/switchback-geo/switchback/internal/consumer"
)

// S0-9: what waits for a service counts once for the rate of missing values, however often it probes, and all of it counts.
func TestOutage_S0_9_aProbeIsNotCountedAgain(t *testing.T) {
	const lacking = `{"type":"Feature","id":"%d","geometry":{"type":"Point","coordinates":[1,2]},"properties":{}}`
	for name, c := range map[string]struct {
		features int
		held     string
	}{
		"few features that probe often": {4, ""},
		"too many of a collection":      {6, "5 of 5 records"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var features []string
			for i := range c.features {
				features = append(features, fmt.Sprintf(lacking, i))
			}
			collection := `{"type":"FeatureCollection","features":[` + strings.Join(features, ",") + `]}`
			run, asked := downAtFirst(t, 12, collection)
			err := run.RunUntilEnd(t.Context())
			if held, is := errors.AsType[*consumer.HeldError](err); is != (c.held != "") || is && !strings.Contains(held.State.Reason, c.held) || !is && err != nil {
				t.Errorf("ended with: %v", err)
			}
			if s := run.Summary(); s.Delivered != 1 || asked() != 12+c.features {
				t.Errorf("%d requests, %+v", asked(), s)
			}
		})
	}
}

// downAtFirst gives a consumer with one record before it. Its service, which has a breaker, refuses so many requests.
func downAtFirst(t *testing.T, refusals int, record string) (run *consumer.Consumer, asked func() int) {
	t.Helper()
	var requests atomic.Int64
	s := newScene(t, func(w http.ResponseWriter, _ *http.Request) {
		if requests.Add(1) <= int64(refusals) {
			http.Error(w, "down", http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte(`{"name":"Ulm"}`))
	}, `pipeline:
  id: parcels
  retry_policy: { max_attempts: 5, base_delay_seconds: 0.1, retryable_status_codes: [503] }
  tolerance: { max_null_rate: 0.5, min_records: 5, halt_on_geometry_invalid: false }
kafka: { brokers: [%q] }
source: { split: features }
metrics: { listen: "" }
transform: { fields: [{ from: zone, to: zone, type: string }] }
enrich:
  - { name: place, http: { url: "%s/?id={id}", allow_private: true, breaker: { failures: 1, cooldown: 100ms, successes: 1 } }, set: { place: /name } }
`)
	s.send(record)
	return s.consumer(), func() int { return int(requests.Load()) }
}
