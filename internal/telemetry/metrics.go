package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// Metrics counts the work of a consumer. It counts committed work only. An attempt whose transaction aborts is repeated,
// and the repetition counts.
type Metrics struct {
	source       string
	consumed     prometheus.Counter
	delivered    prometheus.Counter
	closed       *prometheus.CounterVec
	retried      *prometheus.CounterVec
	parked       *prometheus.CounterVec
	dead         *prometheus.CounterVec
	parts        *prometheus.CounterVec
	delay        *prometheus.HistogramVec
	lateness     *prometheus.HistogramVec
	handler      prometheus.Histogram
	transactions *prometheus.CounterVec
	transaction  prometheus.Histogram
	deadline     *prometheus.GaugeVec // a vector without labels, so that the gauge is absent until it is set
}

// Build identifies the process that exports metrics, and lists the failures that its dead letters can have.
type Build struct {
	Version, RunID string
	Failures       []classify.Entry
}

// NewMetrics registers the metrics of one consumer. It calls stats at every scrape. Version and RunID of b become labels
// of switchback_build_info and switchback_run_info.
func NewMetrics(r prometheus.Registerer, stats func() retrytopics.Stats, source string, b Build) (*Metrics, error) {
	m := &Metrics{
		source:    source,
		consumed:  counter("switchback_records_consumed_total", "Records of the source topic that were finished or produced to a retry topic."),
		delivered: counter("switchback_records_delivered_total", "Records whose output was committed."),
		closed:    counters("switchback_records_closed_total", "Records that were finished without output, by decision (duplicate, superseded, filtered or skipped).", "decision"),
		retried:   counters("switchback_records_retried_total", "Attempts that failed transiently and whose record was produced to a retry topic, by retry topic.", "tier"),
		parked:    counters("switchback_records_parked_total", "Records that were produced to a retry topic without an attempt, because they were not due or an earlier event of their key was not finished, by retry topic.", "tier"),
		dead:      counters("switchback_records_dead_lettered_total", "Dead letters produced to the DLQ, including single features of split collections, by error code, error category and alert priority.", "code", "category", "priority"),
		parts:     counters("switchback_parts_total", "Features of split collections, by outcome of the attempt. A feature that is retried is counted at each attempt.", "outcome"),
		delay: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "switchback_retry_delay_seconds", Help: "Seconds from a failed attempt to the earliest time of the next attempt, by retry topic.",
			Buckets: []float64{.1, .5, 1, 2, 3, 5, 8, 10, 15, 30, 60, 120, 300, 900, 3600},
		}, []string{"tier"}),
		lateness: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "switchback_retry_lateness_seconds", Help: "Seconds from a record's due time to the start of its attempt, by retry topic.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 5, 30, 120},
		}, []string{"tier"}),
		handler:      histogram("switchback_handler_duration_seconds", "Seconds that one attempt to process a record took."),
		transactions: counters("switchback_transactions_total", "Kafka transactions, by outcome (committed or aborted).", "outcome"),
		transaction:  histogram("switchback_transaction_duration_seconds", "Seconds that one Kafka transaction took."),
		deadline: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "switchback_run_deadline_timestamp_seconds",
			Help: "Deadline of a bounded run (--sla) as a Unix timestamp in seconds. Absent for other runs."}, nil),
	}
	build := always1("switchback_build_info", "Always 1. The label version is the version of the program.", prometheus.Labels{"version": b.Version})
	run := always1("switchback_run_info", "Always 1. The label run_id is the run of this instance, as in logs, headers and the audit trail.", prometheus.Labels{"run_id": b.RunID})
	for _, c := range []prometheus.Collector{m.consumed, m.delivered, m.closed, m.retried, m.parked, m.dead, m.parts, m.delay, m.lateness, m.handler,
		m.transactions, m.transaction, m.deadline, build, run, newStatsCollector(stats, source)} {
		if err := r.Register(c); err != nil {
			return nil, err
		}
	}
	// Create the series of every failure now. A rate does not see the first increment of a series that starts with it.
	for _, e := range b.Failures {
		m.dead.WithLabelValues(string(e.Code), string(e.Category), string(e.Alert))
	}
	// Create both outcomes now, so that a rate over them is never empty.
	m.transactions.WithLabelValues("committed")
	m.transactions.WithLabelValues("aborted")
	return m, nil
}

func always1(name, help string, labels prometheus.Labels) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: labels}, func() float64 { return 1 })
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
	m.observeParts(e)
	switch e.Decision.Outcome {
	case policy.OutcomeDelivered:
		m.delivered.Inc()
	case policy.OutcomeRetried:
		m.retried.WithLabelValues(e.Destination).Inc()
		m.delay.WithLabelValues(e.Destination).Observe(e.Decision.Due.Sub(e.At).Seconds())
	case policy.OutcomeParked:
		m.parked.WithLabelValues(e.Destination).Inc()
		return // no attempt was made
	case policy.OutcomeDeadLettered:
		m.dead.WithLabelValues(string(e.Failure.Code), string(e.Failure.Category), string(e.Failure.Alert)).Inc()
	case policy.OutcomeDuplicate, policy.OutcomeSuperseded, policy.OutcomeFiltered, policy.OutcomeSkipped:
		m.closed.WithLabelValues(string(e.Decision.Outcome)).Inc()
	}
	m.handler.Observe(e.Took.Seconds())
	if e.Record.Position.Topic != m.source {
		m.lateness.WithLabelValues(e.Record.Position.Topic).Observe(e.Lateness.Seconds())
	}
}

// observeParts counts the outcomes of the parts of a record.
func (m *Metrics) observeParts(e *retrytopics.Event) {
	if e.Parts == (retrytopics.PartCounts{}) {
		return
	}
	for outcome, n := range e.Parts.Each() {
		m.parts.WithLabelValues(string(outcome)).Add(float64(n))
	}
	if n := e.Parts.Overtaken; n > 0 {
		m.parts.WithLabelValues(string(e.Decision.Outcome)).Add(float64(n))
	}
	for _, dead := range e.Dead {
		m.dead.WithLabelValues(string(dead.Failure.Code), string(dead.Failure.Category), string(dead.Failure.Alert)).Inc()
	}
}

// Deadline exports the time at which a bounded run must be done.
func (m *Metrics) Deadline(at time.Time) {
	m.deadline.WithLabelValues().Set(float64(at.UnixMilli()) / float64(time.Second/time.Millisecond))
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
