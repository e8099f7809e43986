package telemetry_test

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/common/expfmt"

	"github.com/switchback-geo/switchback/internal/breaker"
	"github.com/switchback-geo/switchback/internal/enrich"
	"github.com/switchback-geo/switchback/internal/sink"
	"github.com/switchback-geo/switchback/internal/telemetry"
	"github.com/switchback-geo/switchback/internal/testkit/must"
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
	text := string(must.Get(testutil.CollectAndFormat(collector, expfmt.TypeTextPlain, "switchback_circuit_open", "switchback_provider_circuit", "switchback_provider_fallbacks_total",
		"switchback_provider_quota_remaining", "switchback_provider_rate_limit_headers_total", "switchback_provider_request_duration_seconds",
		"switchback_sink_batch_duration_seconds", "switchback_sink_rows_total"))(t))
	for _, series := range []string{
		`switchback_circuit_open{dependency="place/main"} 1`,
		`switchback_circuit_open{dependency="sink"} 1`,
		`switchback_circuit_open{dependency="zone"} 0`,
		`switchback_provider_circuit{provider="main",state="open",step="place"} 1`,
		`switchback_provider_circuit{provider="main",state="closed",step="place"} 0`,
		`switchback_provider_circuit{provider="mirror",state="none",step="place"} 1`,
		`switchback_provider_circuit{provider="zone",state="closed",step="zone"} 1`,
		`switchback_provider_fallbacks_total{provider="mirror",step="place"} 5`,
		`switchback_provider_quota_remaining{provider="mirror",step="place"} 42`,
		`switchback_provider_rate_limit_headers_total{provider="main",step="place"} 2`,
		`switchback_provider_request_duration_seconds_sum{provider="main",step="place"} 1.5`,
		`switchback_provider_request_duration_seconds_count{provider="main",step="place"} 3`,
		`switchback_sink_batch_duration_seconds_sum{table="parcels"} 2`,
		`switchback_sink_batch_duration_seconds_count{table="parcels"} 4`,
		`switchback_sink_rows_total{outcome="deleted",table="parcels"} 1`,
		`switchback_sink_rows_total{outcome="failed",table="parcels"} 3`,
		`switchback_sink_rows_total{outcome="older",table="parcels"} 2`,
		`switchback_sink_rows_total{outcome="written",table="parcels"} 5`,
	} {
		if !strings.Contains(text, series+"\n") {
			t.Errorf("no series %s in\n%s", series, text)
		}
	}
	if strings.Contains(text, `dependency="place/mirror"`) || strings.Count(text, "switchback_provider_quota_remaining{") != 1 {
		t.Errorf("a provider without a breaker, or one that says nothing of a quota, has a series\n%s", text)
	}
	if n := testutil.CollectAndCount(collector, "switchback_provider_requests_total"); n != 3*len(enrich.Outcomes()) {
		t.Errorf("%d series of requests", n)
	}
}
