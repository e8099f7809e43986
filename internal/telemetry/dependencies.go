package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/switchback-geo/switchback/internal/breaker"
	"github.com/switchback-geo/switchback/internal/enrich"
	"github.com/switchback-geo/switchback/internal/sink"
)

// dependencyCollector exports the state of the dependencies at the time of the scrape: the providers of remote steps,
// and the sink.
type dependencyCollector struct {
	status    func() []enrich.Status
	sinks     func() []sink.Status
	requests  *prometheus.Desc
	fallbacks *prometheus.Desc
	duration  *prometheus.Desc
	circuit   *prometheus.Desc
	open      *prometheus.Desc
	quota     *prometheus.Desc
	advised   *prometheus.Desc
	rows      *prometheus.Desc
	batches   *prometheus.Desc
}

// NewDependencyCollector returns the collector of the providers of remote steps and of the sinks. It calls both
// functions at every scrape.
func NewDependencyCollector(providers func() []enrich.Status, sinks func() []sink.Status) prometheus.Collector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, append([]string{"step", "provider"}, labels...), nil)
	}
	return &dependencyCollector{
		status: providers, sinks: sinks,
		requests:  desc("switchback_provider_requests_total", "Requests to a provider of a remote step, by outcome: answered, cached, passing (failed transiently), refused (failed permanently) or deferred (not sent, or failed while the provider was known to be down).", "outcome"),
		fallbacks: desc("switchback_provider_fallbacks_total", "Requests that this provider answered in place of an earlier provider of the step."),
		duration:  desc("switchback_provider_request_duration_seconds", "Seconds that the requests sent to a provider took."),
		circuit:   desc("switchback_provider_circuit", "1 for the current state of the provider's circuit breaker (none, closed, open or half_open), 0 for the other states.", "state"),
		open: prometheus.NewDesc("switchback_circuit_open", "1 while the circuit breaker of a dependency is open or probes it, 0 otherwise. Absent if the dependency has no breaker.",
			[]string{"dependency"}, nil),
		quota: desc("switchback_provider_quota_remaining", "Requests left in the provider's quota, as it reports in its answers. Absent while it reports none."),
		advised: desc("switchback_provider_rate_limit_headers_total",
			"Answers of a provider that have a rate limit header (any form of RateLimit, or Retry-After)."),
		rows: prometheus.NewDesc("switchback_sink_rows_total", "Rows of a sink table, by outcome: written, deleted, older (a newer row was kept) or failed (with their batch).",
			[]string{"table", "outcome"}, nil),
		batches: prometheus.NewDesc("switchback_sink_batch_duration_seconds", "Seconds that the statements that write batches of rows took, by table.", []string{"table"}, nil),
	}
}

// Describe lists the metrics.
func (c *dependencyCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.requests, c.fallbacks, c.duration, c.circuit, c.open, c.quota, c.advised, c.rows, c.batches} {
		ch <- d
	}
}

// Collect reads the state of all dependencies and exports it.
func (c *dependencyCollector) Collect(ch chan<- prometheus.Metric) {
	metric := func(d *prometheus.Desc, kind prometheus.ValueType, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, kind, v, labels...)
	}
	for _, s := range c.sinks() {
		for outcome, n := range map[string]uint64{"written": s.Written, "deleted": s.Deleted, "older": s.Older, "failed": s.Failed} {
			metric(c.rows, prometheus.CounterValue, float64(n), s.Table, outcome)
		}
		ch <- prometheus.MustNewConstSummary(c.batches, s.Batches, s.Took.Seconds(), nil, s.Table)
		metric(c.open, prometheus.GaugeValue, open(s.Circuit), sink.Dependency)
	}
	for _, s := range c.status() {
		for _, outcome := range enrich.Outcomes() {
			metric(c.requests, prometheus.CounterValue, float64(s.Requests[outcome]), s.Step, s.Provider, string(outcome))
		}
		metric(c.advised, prometheus.CounterValue, float64(s.Advised), s.Step, s.Provider)
		metric(c.fallbacks, prometheus.CounterValue, float64(s.Fallbacks), s.Step, s.Provider)
		ch <- prometheus.MustNewConstSummary(c.duration, s.Sent, s.Took.Seconds(), nil, s.Step, s.Provider)
		for _, state := range breaker.States() {
			in := 0.0
			if s.Circuit == state {
				in = 1
			}
			metric(c.circuit, prometheus.GaugeValue, in, s.Step, s.Provider, string(state))
		}
		if s.Circuit != breaker.StateNone {
			metric(c.open, prometheus.GaugeValue, open(s.Circuit), dependency(s))
		}
		if s.QuotaKnown {
			metric(c.quota, prometheus.GaugeValue, float64(s.QuotaLeft), s.Step, s.Provider)
		}
	}
}

func open(c breaker.State) float64 {
	if c == breaker.StateClosed {
		return 0
	}
	return 1
}

// dependency returns the name by which records are deferred for a provider. The name is that of the step, followed by that
// of the provider if the step has several providers.
func dependency(s enrich.Status) string {
	if s.Provider == s.Step {
		return s.Step
	}
	return s.Step + "/" + s.Provider
}
