package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// NewGatesOff returns the metric that reports whether an operator turned the rate gates off (consumer resume --for). It
// calls off at every scrape.
func NewGatesOff(off func(now time.Time) bool) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "switchback_rate_gates_off", Help: "1 while an operator has turned off the error-rate thresholds that pause the pipeline (consumer resume --for), 0 otherwise.",
	}, func() float64 {
		if off(time.Now()) {
			return 1
		}
		return 0
	})
}
