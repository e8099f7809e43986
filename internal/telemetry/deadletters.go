package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/switchback-geo/switchback/internal/deadletters"
)

// deadLetters exports the number of pending dead letters.
type deadLetters struct {
	count                      func() (c deadletters.Count, known bool)
	pending, escalated, oldest *prometheus.Desc
}

// NewDeadLetters returns the collector of the pending dead letters. It calls count at every scrape. The metrics are
// absent until the count is known.
func NewDeadLetters(count func() (c deadletters.Count, known bool)) prometheus.Collector {
	desc := func(name, help string) *prometheus.Desc { return prometheus.NewDesc(name, help, nil, nil) }
	return &deadLetters{
		count:     count,
		pending:   desc("switchback_dead_letters_pending", "Dead letters of the whole pipeline that are pending. Absent until the DLQ has been read."),
		escalated: desc("switchback_dead_letters_escalated", "Dead letters of the whole pipeline that are escalated for a decision. Absent until the DLQ has been read."),
		oldest:    desc("switchback_dead_letters_oldest_pending_seconds", "Age in seconds of the oldest dead letter that is pending or escalated. 0 if there is none, absent until the DLQ has been read."),
	}
}

// Describe lists the gauges.
func (d *deadLetters) Describe(ch chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{d.pending, d.escalated, d.oldest} {
		ch <- desc
	}
}

// Collect exports the last count.
func (d *deadLetters) Collect(ch chan<- prometheus.Metric) {
	count, known := d.count()
	if !known {
		return
	}
	age := 0.0
	if !count.Oldest.IsZero() {
		age = max(time.Since(count.Oldest), 0).Seconds()
	}
	ch <- prometheus.MustNewConstMetric(d.pending, prometheus.GaugeValue, float64(count.Pending))
	ch <- prometheus.MustNewConstMetric(d.escalated, prometheus.GaugeValue, float64(count.Escalated))
	ch <- prometheus.MustNewConstMetric(d.oldest, prometheus.GaugeValue, age)
}
