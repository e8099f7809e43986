package config

import (
	"slices"
	"strings"
	"testing"
)

const reloadable = `pipeline:
  id: parcels
  retry_policy: { max_attempts: 3, base_delay_seconds: 2, retryable_status_codes: [503] }
  tolerance: { max_null_rate: 1, halt_on_geometry_invalid: false }
transform: { unmapped: drop, fields: [{ from: id, to: id }] }
enrich:
  - name: place
    http: { url: "https://places.example/{properties.id}", rate: { per_second: 10, burst: 5 }, breaker: { preset: steady, failures: 5 } }
    set: { place_name: /name }
`

func TestChanges_S4_5_tellsWhatARunningConsumerCanTakeUp(t *testing.T) {
	for _, c := range []struct {
		name, from, to string
		taken, restart []string
	}{
		{"nothing", "", "", nil, nil},
		{"a rate", "per_second: 10", "per_second: 20", []string{"enrich[0].http.rate.per_second"}, nil},
		{"a breaker", "failures: 5", "failures: 7", []string{"enrich[0].http.breaker.failures"}, nil},
		{"an address", "places.example", "other.example", nil, []string{"enrich[0].http.url"}},
		{"the level of the log", "", "", []string{"log.level"}, nil},
		{"attempts", "max_attempts: 3", "max_attempts: 4", nil, []string{"pipeline.retry_policy.max_attempts"}},
		{"a rate that was not there", "rate: { per_second: 10, burst: 5 }, ", "", nil, []string{"enrich[0].http.rate.burst", "enrich[0].http.rate.per_second"}},
		{"another step in its place", "name: place\n    http: { url: \"https://places.example/{properties.id}\", rate: { per_second: 10", "name: other\n    http: { url: \"https://places.example/{properties.id}\", rate: { per_second: 20",
			nil, []string{"enrich[0].http.rate.per_second", "enrich[0].name"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			changed := strings.Replace(reloadable, c.from, c.to, 1)
			if c.name == "the level of the log" {
				changed = reloadable + "log: { level: debug }\n"
			}
			from, to := mustParse(t, reloadable), mustParse(t, changed)
			taken, restart, err := Changes(from, to)
			if err != nil || !slices.Equal(taken, c.taken) || !slices.Equal(restart, c.restart) {
				t.Fatalf("taken %v, restart %v, error %v; want %v, %v", taken, restart, err, c.taken, c.restart)
			}
			again, still, err := Changes(from.Taking(to), to)
			if err != nil || len(again) > 0 || !slices.Equal(still, c.restart) {
				t.Errorf("after it was taken up: %v, %v, %v", again, still, err)
			}
			if before, _, _ := Changes(from, mustParse(t, reloadable)); len(before) > 0 {
				t.Errorf("the old configuration changed: %v", before)
			}
		})
	}
}
