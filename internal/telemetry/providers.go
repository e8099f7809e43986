package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/switchback-geo/switchback/internal/enrich"
)

// providerCollector turns the state of the remote steps' providers into metrics at the time of the scrape.
type providerCollector struct {
	status    func() []enrich.Status
	requests  *prometheus.Desc
	fallbacks *prometheus.Desc
	duration  *prometheus.Desc
	circuit   *prometheus.Desc
	open      *prometheus.Desc
	quota     *prometheus.Desc
	advised   *prometheus.Desc
}

// NewProviderCollector makes the metrics of the providers of remote steps. status is asked at every scrape.
func NewProviderCollector(status func() []enrich.Status) prometheus.Collector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, append([]string{"step", "provider"}, labels...), nil)
	}
	return &providerCollector{
		status:    status,
		requests:  desc("switchback_provider_requests_total", "Questions to a provider of a remote step, by outcome.", "outcome"),
		fallbacks: desc("switchback_provider_fallbacks_total", "Answers of a provider to questions that an earlier one could not answer."),
		duration:  desc("switchback_provider_request_duration_seconds", "Duration of the requests that were sent."),
		circuit:   desc("switchback_provider_circuit", "1 for the state that the provider's circuit breaker is in, 0 for the others.", "state"),
		open: prometheus.NewDesc("switchback_circuit_open", "1 while the circuit breaker of a dependency holds records or probes, else 0; absent where there is no breaker.",
			[]string{"dependency"}, nil),
		quota: desc("switchback_provider_quota_remaining", "Requests that the provider says are left; absent while it says nothing."),
		advised: desc("switchback_provider_rate_limit_headers_total",
			"Answers that say how much, or when, may be asked: RateLimit in any of its forms, or Retry-After."),
	}
}

// Describe lists the metrics.
func (c *providerCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.requests, c.fallbacks, c.duration, c.circuit, c.open, c.quota, c.advised} {
		ch <- d
	}
}

// Collect reads the snapshot.
func (c *providerCollector) Collect(ch chan<- prometheus.Metric) {
	metric := func(d *prometheus.Desc, kind prometheus.ValueType, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, kind, v, labels...)
	}
	for _, s := range c.status() {
		for _, outcome := range enrich.Outcomes() {
			metric(c.requests, prometheus.CounterValue, float64(s.Requests[outcome]), s.Step, s.Provider, string(outcome))
		}
		metric(c.advised, prometheus.CounterValue, float64(s.Advised), s.Step, s.Provider)
		metric(c.fallbacks, prometheus.CounterValue, float64(s.Fallbacks), s.Step, s.Provider)
		ch <- prometheus.MustNewConstSummary(c.duration, s.Sent, s.Took.Seconds(), nil, s.Step, s.Provider)
		for _, state := range enrich.Circuits() {
			in := 0.0
			if s.Circuit == state {
				in = 1
			}
			metric(c.circuit, prometheus.GaugeValue, in, s.Step, s.Provider, string(state))
		}
		if s.Circuit != enrich.CircuitNone {
			metric(c.open, prometheus.GaugeValue, open(s.Circuit), dependency(s))
		}
		if s.QuotaKnown {
			metric(c.quota, prometheus.GaugeValue, float64(s.QuotaLeft), s.Step, s.Provider)
		}
	}
}

func open(c enrich.Circuit) float64 {
	if c == enrich.CircuitClosed {
		return 0
	}
	return 1
}

// dependency names a provider as records are held by it: by the step, and by its own name where the step has several.
func dependency(s enrich.Status) string {
	if s.Provider == s.Step {
		return s.Step
	}
	return s.Step + "/" + s.Provider
}
