package status

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

const (
	askTimeout = 2 * time.Second
	maxAnswer  = 16 << 20
)

// The metrics that are read. See docs/metrics.md.
const (
	metricPaused   = "switchback_pipeline_paused"
	metricDeferred = "switchback_deferred_records"
	metricCircuit  = "switchback_circuit_open"
	metricProvider = "switchback_provider_circuit"
	metricBuild    = "switchback_build_info"
)

// cause returns the error of a connection without its address.
func cause(err error) error {
	if op, is := errors.AsType[*net.OpError](err); is {
		return op.Err
	}
	return err
}

// Ask reads the metrics of one instance of the pipeline. The answer of anything else, such as another pipeline on the same machine, is an
// error in the instance.
func Ask(ctx context.Context, address, pipeline string) Instance {
	i := Instance{Metrics: address, Dependencies: []Dependency{}}
	families, err := scrape(ctx, address)
	if err != nil {
		i.Error = "does not answer: " + cause(err).Error()
		return i
	}
	if i.Error = notOf(pipeline, families[metricBuild].GetMetric()); i.Error != "" {
		return i
	}
	for _, m := range families[metricPaused].GetMetric() {
		i.Paused = i.Paused || m.GetGauge().GetValue() > 0
	}
	found := map[string]*Dependency{}
	of := func(name string) *Dependency {
		if found[name] == nil {
			found[name] = &Dependency{Name: name}
		}
		return found[name]
	}
	for _, m := range families[metricDeferred].GetMetric() {
		of(label(m, "dependency")).Deferred = int64(m.GetGauge().GetValue())
	}
	for _, m := range families[metricCircuit].GetMetric() {
		of(label(m, "dependency")).CircuitOpen = m.GetGauge().GetValue() > 0
	}
	for _, m := range families[metricProvider].GetMetric() {
		if label(m, "state") == "half_open" && m.GetGauge().GetValue() > 0 {
			of(label(m, "step") + "/" + label(m, "provider")).HalfOpen = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		i.Dependencies = append(i.Dependencies, *found[name])
	}
	return i
}

// notOf returns the reason why the answer is not that of an instance of the pipeline; "" if it is.
func notOf(pipeline string, build []*dto.Metric) string {
	const ask = "; name the instances of this one with --metrics"
	if len(build) == 0 {
		return "is not an instance of a pipeline: it has no " + metricBuild + ask
	}
	if found := label(build[0], "pipeline"); found != pipeline {
		return fmt.Sprintf("is an instance of the pipeline %s, not of %s%s", found, pipeline, ask)
	}
	return ""
}

func label(m *dto.Metric, name string) string {
	for _, l := range m.GetLabel() {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}

func scrape(ctx context.Context, address string) (map[string]*dto.MetricFamily, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	resp, err := (&http.Client{Timeout: askTimeout}).Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("http://%s/metrics answers %s", address, resp.Status)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	return parser.TextToMetricFamilies(io.LimitReader(resp.Body, maxAnswer))
}
