package consumer

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

func TestTimelines_S3_3_askTheEnginesOwnDecision(t *testing.T) {
	cfg := must.Get(config.Parse("test.yaml", []byte(`
pipeline:
  id: parcels
  retry_policy:
    max_attempts: 5
    base_delay_seconds: 2.0
    retryable_status_codes: [429, 503]
    policies:
      timeout: {preset: stac, max_attempts: 3}
      database: {strategy: decorrelated_jitter}
      io: {max_attempts: 2}
  tolerance: {max_null_rate: 1, halt_on_geometry_invalid: false}
`), nil))(t)
	got := Timelines(cfg)
	want := map[string][]string{
		"network, server, rate_limit, registry, conflict, broker, other": {
			"2: 2s to 3s in parcels.retry-2s", "3: 8s to 9s in parcels.retry-8s",
			"4: 1m0s to 1m1s in parcels.retry-60s", "5: 1m0s to 1m1s in parcels.retry-60s",
		},
		"timeout": {"2: 500ms to 1s in parcels.retry-2s", "3: 1s to 2s in parcels.retry-2s"},
		"database": {
			"2: 2s to 6s in parcels.retry-2s to parcels.retry-8s", "3: 2s to 18s in parcels.retry-2s to parcels.retry-60s",
			"4: 2s to 54s in parcels.retry-2s to parcels.retry-60s", "5: 2s to 1m0s in parcels.retry-2s to parcels.retry-60s",
		},
		"memory": {"2: 2s to 3s in parcels.retry-2s"},
		"io":     {"2: 2s to 3s in parcels.retry-2s"}, // the same waits, and another end
	}
	if len(got) != len(want) {
		t.Errorf("%d timelines, want %d", len(got), len(want))
	}
	for _, line := range got {
		var waits []string
		for _, w := range line.Waits {
			waits = append(waits, fmt.Sprintf("%d: %v to %v in %s", w.Attempt, w.Least, w.Most, strings.Join(w.Tiers, " to ")))
		}
		if line.Holds != (line.Name() == "io") {
			t.Errorf("%s: holds the pipeline in the end: %v", line.Name(), line.Holds)
		}
		if name := line.Name(); !slices.Equal(waits, want[name]) {
			t.Errorf("%s:\n got  %q\n want %q", name, waits, want[name])
		}
	}
}
