package telemetry

import "github.com/prometheus/client_golang/prometheus"

// decimalsCollector turns the precision of the source's coordinates into a metric at the time of the scrape.
type decimalsCollector struct {
	decimals func() (decimals int, enough bool)
	desc     *prometheus.Desc
}

// NewDecimalsCollector makes the metric of the decimals that the coordinates of the source have. There is none until enough of
// them were seen.
func NewDecimalsCollector(decimals func() (decimals int, enough bool)) prometheus.Collector {
	return &decimalsCollector{decimals, prometheus.NewDesc("switchback_coordinate_decimals",
		"Decimals that at least half of the last ordinates of the source have; absent until enough were seen.", nil, nil)}
}

// Describe lists the metric.
func (c *decimalsCollector) Describe(ch chan<- *prometheus.Desc) { ch <- c.desc }

// Collect asks for it.
func (c *decimalsCollector) Collect(ch chan<- prometheus.Metric) {
	if n, enough := c.decimals(); enough {
		ch <- prometheus.MustNewConstMetric(c.desc, prometheus.GaugeValue, float64(n))
	}
}
