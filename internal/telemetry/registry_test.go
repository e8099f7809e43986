package telemetry_test

import (
	"strings"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/telemetry"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// Each series has the pipeline that it is of, those of the process and of the Go runtime too.
func TestRegistry_S4_10_eachSeriesNamesItsPipeline(t *testing.T) {
	t.Parallel()
	registry := telemetry.NewRegistry("parcels")
	r := telemetry.OfPipeline(registry, "parcels")
	must.Get(telemetry.NewMetrics(r, stats, "f", telemetry.Build{Version: "v1", RunID: "night-7"}))(t)
	known := false
	r.MustRegister(telemetry.NewGatesOff(func(time.Time) bool { return false }), telemetry.NewDeadLetters(func() (deadletters.Count, bool) {
		return deadletters.Count{Pending: 3, Escalated: 1, Oldest: time.Now().Add(-time.Hour)}, known
	}))
	for _, known = range []bool{false, true} {
		families := must.Get(registry.Gather())(t)
		names := map[string]bool{}
		for _, f := range families {
			names[f.GetName()] = true
			for _, m := range f.GetMetric() {
				pipeline := ""
				for _, l := range m.GetLabel() {
					if l.GetName() == "pipeline" {
						pipeline = l.GetValue()
					}
				}
				if pipeline != "parcels" {
					t.Errorf("%s has the pipeline %q", f.GetName(), pipeline)
				}
			}
		}
		for _, want := range []string{"go_goroutines", "switchback_build_info", "switchback_records_consumed_total"} {
			if !names[want] {
				t.Errorf("no %s", want)
			}
		}
		for name := range names {
			if strings.HasPrefix(name, "switchback_dead_letters_") && !known {
				t.Errorf("%s is there though nothing was counted", name)
			}
		}
		if known && (!names["switchback_dead_letters_pending"] || !names["switchback_dead_letters_escalated"] || !names["switchback_dead_letters_oldest_pending_seconds"]) {
			t.Errorf("%v", names)
		}
	}
}
