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
		requests:  desc("switchback_provider_requests_total", "Questions to a provider of a remote step, by outcome.", "outcome"),
		fallbacks: desc("switchback_provider_fallbacks_total", "Answers of a provider to questions that an earlier one could not answer."),
		duration:  desc("switchback_provider_request_duration_seconds", "Duration of the requests that were sent."),
		circuit:   desc("switchback_provider_circuit", "1 for the state that the provider's circuit breaker is in, 0 for the others.", "state"),
		open: prometheus.NewDesc("switchback_circuit_open", "1 while the circuit breaker of a dependency holds records or probes, else 0; absent where there is no breaker.",
			[]string{"dependency"}, nil),
		quota: desc("switchback_provider_quota_remaining", "Requests that the provider says are left; absent while it says nothing."),
		advised: desc("switchback_provider_rate_limit_headers_total",
			"Answers that say how much, or when, may be asked: RateLimit in any of its forms, or Retry-After."),
		rows: prometheus.NewDesc("switchback_sink_rows_total", "Rows that were written to a table, deleted from it, left as they were because nothing newer came, or that failed with their batch.",
			[]string{"table", "outcome"}, nil),
		batches: prometheus.NewDesc("switchback_sink_batch_duration_seconds", "Duration of the statements that write a table, by table.", []string{"table"}, nil),
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

// dependency returns the name by which records are held for a provider. The name is that of the step, followed by that
// of the provider if the step has several providers.
func dependency(s enrich.Status) string {
	if s.Provider == s.Step {
		return s.Step
	}
	return s.Step + "/" + s.Provider
}
