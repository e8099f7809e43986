package telemetry

import "github.com/prometheus/client_golang/prometheus"

// decimalsCollector exports the precision of the source's coordinates at the time of the scrape.
type decimalsCollector struct {
	decimals func() (decimals int, enough bool)
	desc     *prometheus.Desc
}

// NewDecimalsCollector returns the collector of the number of decimals in the source's coordinates. The metric is absent
// until enough coordinates have been seen.
func NewDecimalsCollector(decimals func() (decimals int, enough bool)) prometheus.Collector {
	return &decimalsCollector{decimals, prometheus.NewDesc("switchback_coordinate_decimals",
		"Decimal places that at least half of the last 100 ordinates of the source have. Absent until enough ordinates were seen.", nil, nil)}
}

// Describe lists the metric.
func (c *decimalsCollector) Describe(ch chan<- *prometheus.Desc) { ch <- c.desc }

// Collect exports the number of decimals.
func (c *decimalsCollector) Collect(ch chan<- prometheus.Metric) {
	if n, enough := c.decimals(); enough {
		ch <- prometheus.MustNewConstMetric(c.desc, prometheus.GaugeValue, float64(n))
	}
}
