package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// NewRegistry returns a registry with the metrics of the process and of the Go runtime.
func NewRegistry(pipeline string) *prometheus.Registry {
	r := prometheus.NewRegistry()
	OfPipeline(r, pipeline).MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return r
}

// OfPipeline returns a registerer that puts the label pipeline on every series. The alert rules group by it, so that two pipelines in one
// scrape job are told apart.
func OfPipeline(r prometheus.Registerer, pipeline string) prometheus.Registerer {
	return prometheus.WrapRegistererWith(prometheus.Labels{"pipeline": pipeline}, r)
}
