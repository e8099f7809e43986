package config_test

import (
	"fmt"
	"testing"

	"github.com/switchback-geo/switchback/internal/config"
)

// A collection that is split is taken apart, unless the file says otherwise.
func TestCollections_default(t *testing.T) {
	const file = `pipeline:
  id: parcels
  retry_policy: {max_attempts: 5, base_delay_seconds: 2.0, retryable_status_codes: [503]}
  tolerance: {max_null_rate: 0.005, halt_on_geometry_invalid: false}
source: {%s}
ordering: {%s}
`
	for _, c := range []struct {
		source, ordering string
		apart            bool
	}{
		{"", "", false},
		{"collections: per_feature", "", false},
		{"split: features", "", true},
		{"split: features", "mode: strict", true},
		{"split: features", "mode: strict, on_dead_letter: hold_key", true},
		{"split: features, collections: all_or_nothing", "", false},
		{"split: features, collections: all_or_nothing", "mode: strict, on_dead_letter: hold_key", false},
	} {
		cfg, err := config.Parse("f.yaml", fmt.Appendf(nil, file, c.source, c.ordering), func(string) string { return "" })
		if err != nil {
			t.Errorf("%+v: %v", c, err)
		} else if got := cfg.Source.Apart(); got != c.apart {
			t.Errorf("%+v: apart is %v", c, got)
		}
	}
}
