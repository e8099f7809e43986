package telemetry_test

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/switchback-geo/switchback/internal/breaker"
	"github.com/switchback-geo/switchback/internal/enrich"
	"github.com/switchback-geo/switchback/internal/sink"
	"github.com/switchback-geo/switchback/internal/telemetry"
)

func TestProviders_S4_5_S2_7_stateAndOutcomes(t *testing.T) {
	collector := telemetry.NewDependencyCollector(func() []enrich.Status {
		return []enrich.Status{
			{Step: "place", Provider: "main", Circuit: breaker.StateOpen, Requests: map[enrich.Outcome]uint64{enrich.OutcomeHeld: 7}, Sent: 3, Took: 1500 * time.Millisecond, Advised: 2},
			{Step: "zone", Provider: "zone", Circuit: breaker.StateClosed},
			{Step: "place", Provider: "mirror", Circuit: breaker.StateNone, Fallbacks: 5, QuotaKnown: true, QuotaLeft: 42},
		}
	}, func() []sink.Status {
		return []sink.Status{{Table: "parcels", Circuit: breaker.StateHalfOpen, Written: 5, Deleted: 1, Older: 2, Failed: 3, Batches: 4, Took: 2 * time.Second}}
	})
	const open = `
# HELP switchback_circuit_open 1 while the circuit breaker of a dependency holds records or probes, else 0; absent where there is no breaker.
# TYPE switchback_circuit_open gauge
switchback_circuit_open{dependency="place/main"} 1
switchback_circuit_open{dependency="sink"} 1
switchback_circuit_open{dependency="zone"} 0
`
	if err := testutil.CollectAndCompare(collector, strings.NewReader(open), "switchback_circuit_open"); err != nil {
		t.Error(err)
	}
	const want = `
# HELP switchback_provider_circuit 1 for the state that the provider's circuit breaker is in, 0 for the others.
# TYPE switchback_provider_circuit gauge
switchback_provider_circuit{provider="main",state="closed",step="place"} 0
switchback_provider_circuit{provider="main",state="half_open",step="place"} 0
switchback_provider_circuit{provider="main",state="none",step="place"} 0
switchback_provider_circuit{provider="main",state="open",step="place"} 1
switchback_provider_circuit{provider="mirror",state="closed",step="place"} 0
switchback_provider_circuit{provider="mirror",state="half_open",step="place"} 0
switchback_provider_circuit{provider="mirror",state="none",step="place"} 1
switchback_provider_circuit{provider="mirror",state="open",step="place"} 0
switchback_provider_circuit{provider="zone",state="closed",step="zone"} 1
switchback_provider_circuit{provider="zone",state="half_open",step="zone"} 0
switchback_provider_circuit{provider="zone",state="none",step="zone"} 0
switchback_provider_circuit{provider="zone",state="open",step="zone"} 0
# HELP switchback_provider_fallbacks_total Answers of a provider to questions that an earlier one could not answer.
# TYPE switchback_provider_fallbacks_total counter
switchback_provider_fallbacks_total{provider="main",step="place"} 0
switchback_provider_fallbacks_total{provider="mirror",step="place"} 5
switchback_provider_fallbacks_total{provider="zone",step="zone"} 0
# HELP switchback_provider_quota_remaining Requests that the provider says are left; absent while it says nothing.
# TYPE switchback_provider_quota_remaining gauge
switchback_provider_quota_remaining{provider="mirror",step="place"} 42
# HELP switchback_provider_rate_limit_headers_total Answers that say how much, or when, may be asked: RateLimit in any of its forms, or Retry-After.
# TYPE switchback_provider_rate_limit_headers_total counter
switchback_provider_rate_limit_headers_total{provider="main",step="place"} 2
switchback_provider_rate_limit_headers_total{provider="mirror",step="place"} 0
switchback_provider_rate_limit_headers_total{provider="zone",step="zone"} 0
# HELP switchback_provider_request_duration_seconds Duration of the requests that were sent.
# TYPE switchback_provider_request_duration_seconds summary
switchback_provider_request_duration_seconds_sum{provider="main",step="place"} 1.5
switchback_provider_request_duration_seconds_count{provider="main",step="place"} 3
switchback_provider_request_duration_seconds_sum{provider="mirror",step="place"} 0
switchback_provider_request_duration_seconds_count{provider="mirror",step="place"} 0
switchback_provider_request_duration_seconds_sum{provider="zone",step="zone"} 0
switchback_provider_request_duration_seconds_count{provider="zone",step="zone"} 0
`
	if err := testutil.CollectAndCompare(collector, strings.NewReader(want), "switchback_provider_circuit", "switchback_provider_fallbacks_total",
		"switchback_provider_quota_remaining", "switchback_provider_rate_limit_headers_total", "switchback_provider_request_duration_seconds"); err != nil {
		t.Error(err)
	}
	const sinks = `
# HELP switchback_sink_batch_duration_seconds Duration of the statements that write a table, by table.
# TYPE switchback_sink_batch_duration_seconds summary
switchback_sink_batch_duration_seconds_sum{table="parcels"} 2
switchback_sink_batch_duration_seconds_count{table="parcels"} 4
# HELP switchback_sink_rows_total Rows that were written to a table, deleted from it, left as they were because nothing newer came, or that failed with their batch.
# TYPE switchback_sink_rows_total counter
switchback_sink_rows_total{outcome="deleted",table="parcels"} 1
switchback_sink_rows_total{outcome="failed",table="parcels"} 3
switchback_sink_rows_total{outcome="older",table="parcels"} 2
switchback_sink_rows_total{outcome="written",table="parcels"} 5
`
	if err := testutil.CollectAndCompare(collector, strings.NewReader(sinks), "switchback_sink_rows_total", "switchback_sink_batch_duration_seconds"); err != nil {
		t.Error(err)
	}
	if n := testutil.CollectAndCount(collector, "switchback_provider_requests_total"); n != 3*len(enrich.Outcomes()) {
		t.Errorf("%d series of requests", n)
	}
}
