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

// OfPipeline returns a registerer that adds the label pipeline to every series. The alert rules group by this label to
// distinguish two pipelines in one scrape job.
func OfPipeline(r prometheus.Registerer, pipeline string) prometheus.Registerer {
	return prometheus.WrapRegistererWith(prometheus.Labels{"pipeline": pipeline}, r)
}
