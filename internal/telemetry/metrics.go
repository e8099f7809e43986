package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// Metrics counts what a consumer did. Only committed work is counted: an attempt whose transaction was aborted is made
// again, and counts then.
type Metrics struct {
	source       string
	consumed     prometheus.Counter
	delivered    prometheus.Counter
	closed       *prometheus.CounterVec
	retried      *prometheus.CounterVec
	parked       *prometheus.CounterVec
	dead         *prometheus.CounterVec
	lateness     *prometheus.HistogramVec
	handler      prometheus.Histogram
	transactions *prometheus.CounterVec
	transaction  prometheus.Histogram
}

// NewMetrics registers the metrics of one consumer. stats is asked at every scrape. version and pipeline become labels of
// switchback_build_info.
func NewMetrics(r prometheus.Registerer, stats func() retrytopics.Stats, source, version, pipeline string) (*Metrics, error) {
	m := &Metrics{
		source:    source,
		consumed:  counter("switchback_records_consumed_total", "Source records that were finished or put into a tier for the first time."),
		delivered: counter("switchback_records_delivered_total", "Records whose output was produced."),
		closed:    counters("switchback_records_closed_total", "Records finished without output, by decision.", "decision"),
		retried:   counters("switchback_records_retried_total", "Failed attempts whose record waits for the next, by tier topic.", "tier"),
		parked:    counters("switchback_records_parked_total", "Records put back into a tier because they were not due yet, by tier topic.", "tier"),
		dead:      counters("switchback_records_dead_lettered_total", "Records put into the DLQ, by error code, its category and the alert tier of the taxonomy.", "code", "category", "priority"),
		lateness: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "switchback_retry_lateness_seconds", Help: "From a record's due time to the start of its attempt, by tier topic.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 5, 30, 120},
		}, []string{"tier"}),
		handler:      histogram("switchback_handler_duration_seconds", "Duration of one attempt."),
		transactions: counters("switchback_transactions_total", "Transactions, by outcome (committed or aborted).", "outcome"),
		transaction:  histogram("switchback_transaction_duration_seconds", "Duration of one transaction."),
	}
	info := prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "switchback_build_info", Help: "Always 1.",
		ConstLabels: prometheus.Labels{"version": version, "pipeline": pipeline}}, func() float64 { return 1 })
	for _, c := range []prometheus.Collector{m.consumed, m.delivered, m.closed, m.retried, m.parked, m.dead, m.lateness, m.handler,
		m.transactions, m.transaction, info, newStatsCollector(stats, source)} {
		if err := r.Register(c); err != nil {
			return nil, err
		}
	}
	// What pages somebody, or calls for a look within the hour, exists from the start: a rate sees no first step out of nothing.
	for _, e := range classify.Taxonomy() {
		if e.Alert == classify.AlertP1 || e.Alert == classify.AlertP2 {
			m.dead.WithLabelValues(string(e.Code), string(e.Category), string(e.Alert))
		}
	}
	// The two outcomes exist from the start, so that a rate over them is never empty.
	m.transactions.WithLabelValues("committed")
	m.transactions.WithLabelValues("aborted")
	return m, nil
}

func counter(name, help string) prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
}

func counters(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}

func histogram(name, help string) prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help,
		Buckets: []float64{.0001, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}})
}

// Observe counts one committed event.
func (m *Metrics) Observe(e *retrytopics.Event) {
	if e.Record.Position.Topic == m.source {
		m.consumed.Inc()
	}
	switch e.Decision.Outcome {
	case retrytopics.OutcomeDelivered:
		m.delivered.Inc()
	case retrytopics.OutcomeRetried:
		m.retried.WithLabelValues(e.Destination).Inc()
	case retrytopics.OutcomeParked:
		m.parked.WithLabelValues(e.Destination).Inc()
		return // no attempt was made
	case retrytopics.OutcomeDeadLettered:
		m.dead.WithLabelValues(string(e.Failure.Code), string(e.Failure.Category), string(e.Failure.Alert)).Inc()
	case retrytopics.OutcomeDuplicate, retrytopics.OutcomeSuperseded, retrytopics.OutcomeFiltered, retrytopics.OutcomeSkipped:
		m.closed.WithLabelValues(string(e.Decision.Outcome)).Inc()
	}
	m.handler.Observe(e.Took.Seconds())
	if e.Record.Position.Topic != m.source {
		m.lateness.WithLabelValues(e.Record.Position.Topic).Observe(e.Lateness.Seconds())
	}
}

// Transaction counts one transaction.
func (m *Metrics) Transaction(took time.Duration, committed bool) {
	outcome := "aborted"
	if committed {
		outcome = "committed"
	}
	m.transactions.WithLabelValues(outcome).Inc()
	m.transaction.Observe(took.Seconds())
}
