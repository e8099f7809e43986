package status

import (
	"context"
	"fmt"
	"io"
	"maps"
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

// The metrics that are read. See docs/operations.md.
const (
	metricHeld        = "switchback_pipeline_held"
	metricHeldRecords = "switchback_held_records"
	metricCircuit     = "switchback_circuit_open"
)

// ask reads the metrics of one instance.
func ask(ctx context.Context, address string) Instance {
	i := Instance{Metrics: address, Dependencies: []Dependency{}}
	families, err := scrape(ctx, address)
	if err != nil {
		i.Error = err.Error()
		return i
	}
	for _, m := range families[metricHeld].GetMetric() {
		i.Held = i.Held || m.GetGauge().GetValue() > 0
	}
	found := map[string]*Dependency{}
	of := func(name string) *Dependency {
		if found[name] == nil {
			found[name] = &Dependency{Name: name}
		}
		return found[name]
	}
	for _, m := range families[metricHeldRecords].GetMetric() {
		of(label(m, "dependency")).HeldRecords = int64(m.GetGauge().GetValue())
	}
	for _, m := range families[metricCircuit].GetMetric() {
		of(label(m, "dependency")).CircuitOpen = m.GetGauge().GetValue() > 0
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		i.Dependencies = append(i.Dependencies, *found[name])
	}
	return i
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
