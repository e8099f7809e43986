package telemetry_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"

	"github.com/switchback-geo/switchback/internal/breaker"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/enrich"
	"github.com/switchback-geo/switchback/internal/sink"
	"github.com/switchback-geo/switchback/internal/telemetry"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

func stats() retrytopics.Stats {
	return retrytopics.Stats{Partitions: 6, Lag: 12, LagTime: 3 * time.Second, Tiers: []retrytopics.TierStats{
		{Tier: policy.Tier{Topic: "f.retry-2s"}, Waiting: 4, Overdue: time.Second},
	}}
}

func serve(t *testing.T, ready func() string) (address string, m *telemetry.Metrics) {
	t.Helper()
	failures := classify.Options{Rules: []classify.Rule{{Code: classify.CodeHTTPClientError, Class: classify.Permanent, Alert: classify.AlertP1}}}
	registry := prometheus.NewRegistry()
	m = must.Get(telemetry.NewMetrics(registry, stats, "f", telemetry.Build{Version: "v1", RunID: "night-7", Failures: failures.Possible()}))(t)
	server := must.Get(telemetry.Listen("127.0.0.1:0", registry, telemetry.Health{Live: func() string { return "" }, Ready: ready}))(t)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { server.Run(ctx, slog.New(slog.DiscardHandler)) })
	t.Cleanup(func() { cancel(); wg.Wait() })
	return server.Address(), m
}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	req := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil))(t)
	resp := must.Get(http.DefaultClient.Do(req))(t)
	defer resp.Body.Close()
	body := must.Get(io.ReadAll(resp.Body))(t)
	return resp.StatusCode, string(body)
}

func TestMetrics_S2_7_countEveryOutcome(t *testing.T) {
	address, m := serve(t, func() string { return "" })
	noon := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	failure := &classify.Failure{Code: classify.CodeNotJSON, Category: classify.CategoryValidation, Alert: classify.AlertP3, Err: errors.New("x")}
	for _, o := range policy.Outcomes() {
		e := retrytopics.Event{Record: &retrytopics.Record{Position: header.Position{Topic: "f"}, Attempt: 1}, Failure: failure,
			At: noon, Decision: policy.Decision{Outcome: o, Due: noon.Add(2500 * time.Millisecond)}, Destination: "f.retry-2s"}
		m.Observe(&e)
	}
	dead := &retrytopics.Event{Failure: &classify.Failure{Code: classify.CodeWrongType, Category: classify.CategoryValidation, Alert: classify.AlertP3}}
	m.Observe(&retrytopics.Event{Record: &retrytopics.Record{Position: header.Position{Topic: "f"}}, Dead: []*retrytopics.Event{dead, dead},
		Decision: policy.Decision{Outcome: policy.OutcomeDelivered}, Parts: retrytopics.PartCounts{Delivered: 5, Filtered: 1, DeadLettered: 2, Waiting: 3}})
	m.Observe(&retrytopics.Event{Record: &retrytopics.Record{Position: header.Position{Topic: "f.retry-2s"}},
		Decision: policy.Decision{Outcome: policy.OutcomeSuperseded}, Parts: retrytopics.PartCounts{Overtaken: 3}})
	m.Transaction(time.Millisecond, true)
	_, body := get(t, "http://"+address+"/metrics")
	for _, want := range []string{
		"switchback_records_consumed_total 9", "switchback_records_delivered_total 2",
		`switchback_parts_total{outcome="delivered"} 5`, `switchback_parts_total{outcome="filtered"} 1`, `switchback_parts_total{outcome="dead_lettered"} 2`,
		`switchback_parts_total{outcome="retried"} 3`, `switchback_parts_total{outcome="superseded"} 3`,
		`switchback_records_dead_lettered_total{category="validation",code="wrong_type",priority="P3"} 2`,
		`switchback_records_retried_total{tier="f.retry-2s"} 1`, `switchback_records_parked_total{tier="f.retry-2s"} 1`,
		`switchback_records_dead_lettered_total{category="validation",code="not_json",priority="P3"} 1`, // S4-10
		`switchback_records_dead_lettered_total{category="access",code="http_unauthorized",priority="P1"} 0`, `switchback_records_closed_total{decision="superseded"} 2`,
		`switchback_records_dead_lettered_total{category="validation",code="geometry_invalid",priority="P3"} 0`,
		`switchback_records_dead_lettered_total{category="request",code="http_client_error",priority="P1"} 0`, // a rule of the file
		`switchback_lag_records{topic="f"} 12`, "switchback_lag_seconds 3", `switchback_tier_waiting_records{tier="f.retry-2s"} 4`,
		`switchback_tier_overdue_seconds{tier="f.retry-2s"} 1`, `switchback_transactions_total{outcome="committed"} 1`,
		`switchback_retry_delay_seconds_bucket{tier="f.retry-2s",le="2"} 0`, `switchback_retry_delay_seconds_bucket{tier="f.retry-2s",le="3"} 1`,
		`switchback_retry_delay_seconds_sum{tier="f.retry-2s"} 2.5`, `switchback_transactions_total{outcome="aborted"} 0`, `switchback_build_info{version="v1"} 1`,
		`switchback_run_info{run_id="night-7"} 1`, // S4-11
	} {
		expect.That(t, strings.Contains(body, want+"\n"), "no line %q", want)
	}
}

// S4-10: a run without a service level exports no deadline, because it would count as missed from the start.
func TestMetrics_S4_10_theDeadlineOfABoundedRun(t *testing.T) {
	address, m := serve(t, func() string { return "" })
	_, body := get(t, "http://"+address+"/metrics")
	expect.That(t, !strings.Contains(body, "deadline"), "a run without a service level has a deadline")
	m.Deadline(time.UnixMilli(1_782_907_200_500))
	_, body = get(t, "http://"+address+"/metrics")
	expect.That(t, strings.Contains(body, "switchback_run_deadline_timestamp_seconds 1.7829072005e+09\n"), "no deadline in %s", body)
}

func TestProviders_S4_5_S2_7_stateAndOutcomes(t *testing.T) {
	collector := telemetry.NewDependencyCollector(func() []enrich.Status {
		return []enrich.Status{
			{Step: "place", Provider: "main", Circuit: breaker.StateOpen, Requests: map[enrich.Outcome]uint64{enrich.OutcomeDeferred: 7}, Sent: 3, Took: 1500 * time.Millisecond, Advised: 2},
			{Step: "zone", Provider: "zone", Circuit: breaker.StateClosed},
			{Step: "place", Provider: "mirror", Circuit: breaker.StateNone, Fallbacks: 5, QuotaKnown: true, QuotaLeft: 42},
		}
	}, func() []sink.Status {
		return []sink.Status{{Table: "parcels", Circuit: breaker.StateHalfOpen, Written: 5, Deleted: 1, Older: 2, Failed: 3, Batches: 4, Took: 2 * time.Second}}
	})
	registry := prometheus.NewRegistry()
	must.Do(t, registry.Register(collector))
	var written strings.Builder
	for _, family := range must.Get(registry.Gather())(t) {
		must.Get(expfmt.MetricFamilyToText(&written, family))(t)
	}
	text := written.String()
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
		expect.That(t, strings.Contains(text, series+"\n"), "no series %s in\n%s", series, text)
	}
	expect.That(t, !strings.Contains(text, `dependency="place/mirror"`) && strings.Count(text, "switchback_provider_quota_remaining{") == 1,
		"a provider without a breaker, or one that says nothing of a quota, has a series\n%s", text)
	expect.Equal(t, strings.Count(text, "\nswitchback_provider_requests_total{"), 3*len(enrich.Outcomes()), "series of requests")
}

// Each series has the pipeline label, including those of the process and of the Go runtime.
func TestRegistry_S4_10_eachSeriesNamesItsPipeline(t *testing.T) {
	t.Parallel()
	registry := telemetry.NewRegistry("parcels")
	r := telemetry.OfPipeline(registry, "parcels")
	must.Get(telemetry.NewMetrics(r, stats, "f", telemetry.Build{Version: "v1", RunID: "night-7"}))(t)
	known := false
	r.MustRegister(telemetry.NewGatesOff(func(time.Time) bool { return false }), telemetry.NewDeadLetters(func() (deadletters.Count, bool) {
		return deadletters.Count{Pending: 3, Escalated: 1, Oldest: time.Now().Add(-time.Hour)}, known
	}))
	for _, known = range []bool{false, true} {
		families := must.Get(registry.Gather())(t)
		names := map[string]bool{}
		for _, f := range families {
			names[f.GetName()] = true
			for _, m := range f.GetMetric() {
				pipeline := ""
				for _, l := range m.GetLabel() {
					if l.GetName() == "pipeline" {
						pipeline = l.GetValue()
					}
				}
				expect.That(t, pipeline == "parcels", "%s has the pipeline %q", f.GetName(), pipeline)
			}
		}
		for _, want := range []string{"go_goroutines", "switchback_build_info", "switchback_records_consumed_total"} {
			expect.That(t, names[want], "no %s", want)
		}
		for name := range names {
			expect.That(t, !strings.HasPrefix(name, "switchback_dead_letters_") || known, "%s is exported although nothing was counted", name)
		}
		expect.That(t, !known || names["switchback_dead_letters_pending"] && names["switchback_dead_letters_escalated"] && names["switchback_dead_letters_oldest_pending_seconds"], "%v", names)
	}
}
