package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// statsCollector exports the engine's snapshot as gauges. It reads the snapshot at the time of the scrape, so the gauges
// are never stale.
type statsCollector struct {
	stats      func() retrytopics.Stats
	source     string
	partitions *prometheus.Desc
	lag        *prometheus.Desc
	lagTime    *prometheus.Desc
	waiting    *prometheus.Desc
	overdue    *prometheus.Desc
	nextDue    *prometheus.Desc
	deferred   *prometheus.Desc
	skew       *prometheus.Desc
	lost       *prometheus.Desc
	paused     *prometheus.Desc
	blocked    *prometheus.Desc
	stuck      *prometheus.Desc
	unproven   *prometheus.Desc
	versions   *prometheus.Desc
	forgotten  *prometheus.Desc
}

func newStatsCollector(stats func() retrytopics.Stats, source string) *statsCollector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, labels, nil)
	}
	return &statsCollector{
		stats: stats, source: source,
		partitions: desc("switchback_assigned_partitions", "Partitions of the source topic that are assigned to this instance."),
		lag:        desc("switchback_lag_records", "Records of the source topic that are not finished, in the partitions of this instance. Records in retry topics do not count.", "topic"),
		lagTime:    desc("switchback_lag_seconds", "Age in seconds of the oldest source record that is not finished, in the partitions of this instance. 0 if there is none."),
		waiting:    desc("switchback_tier_waiting_records", "Records that wait in a retry topic, in the partitions of this instance, by retry topic.", "tier"),
		overdue:    desc("switchback_tier_overdue_seconds", "Seconds since the due time of the most overdue record, by retry topic. 0 if no record is overdue.", "tier"),
		deferred:   desc("switchback_deferred_records", "Records that are deferred in memory while a dependency is unavailable, by dependency.", "dependency"),
		skew:       desc("switchback_clock_skew_records_total", "Records whose timestamp was more than one second in the future when this instance consumed them."),
		lost:       desc("switchback_lost_to_retention_records_total", "Records that were deleted before they were consumed, by topic. The number is an upper bound.", "topic"),
		paused:     desc("switchback_pipeline_paused", "1 while the pipeline is paused by an operator or an error threshold, 0 otherwise."),
		blocked:    desc("switchback_blocked", "1 while this instance cannot commit finished records, 0 otherwise. The log names the cause."),
		stuck:      desc("switchback_stuck_handlers", "Attempts of this instance that have been running for longer than engine.handler_timeout."),
		unproven:   desc("switchback_unproven_headers_total", "Records of the source topic whose replay headers were not accepted, by reason (for example a missing proof). They are processed as new records.", "reason"),
		versions:   desc("switchback_versions_keys", "Keys whose newest version is remembered, in the partitions of this instance."),
		forgotten:  desc("switchback_versions_forgotten_total", "Keys whose newest version was forgotten because their partition has more keys than ordering.versions.max_keys."),
		nextDue:    desc("switchback_tier_next_due_timestamp_seconds", "Due time of the next waiting record as a Unix timestamp in seconds, by retry topic. Absent if no record waits.", "tier"),
	}
}

// Describe lists the gauges.
func (c *statsCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		c.partitions, c.lag, c.lagTime, c.waiting, c.overdue, c.nextDue, c.deferred, c.skew, c.lost, c.paused, c.blocked, c.stuck, c.unproven,
		c.versions, c.forgotten,
	} {
		ch <- d
	}
}

// Collect reads the engine's snapshot and exports it.
func (c *statsCollector) Collect(ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	s := c.stats()
	gauge(c.partitions, float64(s.Partitions))
	gauge(c.lag, float64(s.Lag), c.source)
	gauge(c.lagTime, max(s.LagTime, 0).Seconds())
	ch <- prometheus.MustNewConstMetric(c.skew, prometheus.CounterValue, float64(s.ClockSkew))
	gauge(c.versions, float64(s.Versions.Keys))
	ch <- prometheus.MustNewConstMetric(c.forgotten, prometheus.CounterValue, float64(s.Versions.Forgotten))
	for topic, n := range s.Lost {
		ch <- prometheus.MustNewConstMetric(c.lost, prometheus.CounterValue, float64(n), topic)
	}
	still := 0.0
	if s.Paused != "" {
		still = 1
	}
	gauge(c.paused, still)
	blocked := 0.0
	if s.Blocked.Reason != "" {
		blocked = 1
	}
	gauge(c.blocked, blocked)
	gauge(c.stuck, float64(len(s.Stuck)))
	for _, doubt := range retrytopics.Doubts() {
		ch <- prometheus.MustNewConstMetric(c.unproven, prometheus.CounterValue, float64(s.Doubts[doubt]), string(doubt))
	}
	for _, h := range s.Deferred {
		gauge(c.deferred, float64(h.Records), h.Dependency)
	}
	for _, t := range s.Tiers {
		gauge(c.waiting, float64(t.Waiting), t.Topic)
		gauge(c.overdue, max(t.Overdue, 0).Seconds(), t.Topic)
		if !t.NextDue.IsZero() {
			gauge(c.nextDue, float64(t.NextDue.UnixMilli())/float64(time.Second/time.Millisecond), t.Topic)
		}
	}
}
