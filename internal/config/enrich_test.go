package config

import (
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// The figures of both documents are presets; what is written by hand goes before them.
func TestBreakerPresets_S4_5_S3_5(t *testing.T) {
	minute, half := Duration(time.Minute), Duration(30*time.Second)
	for written, want := range map[string]Breaker{
		"{}":                  {Preset: BreakerSteady, Failures: 5, FailureRate: 0.5, Among: 20, Window: minute, Cooldown: half, Successes: 2},
		"{preset: standard}":  {Preset: BreakerStandard, Failures: 5, Window: minute, Cooldown: half, Successes: 2},
		"{preset: patient}":   {Preset: BreakerPatient, Failures: 3, Window: 5 * minute, Cooldown: 5 * minute, Successes: 1},
		"{failures: 3}":       {Preset: BreakerSteady, Failures: 3, FailureRate: 0.5, Among: 20, Window: minute, Cooldown: half, Successes: 2},
		"{failure_rate: 0.9}": {Preset: BreakerSteady, Failures: 5, FailureRate: 0.9, Among: 20, Window: minute, Cooldown: half, Successes: 2},
		"{preset: patient, failure_rate: 0.5, cooldown: 1m}": {
			Preset: BreakerPatient, Failures: 3, FailureRate: 0.5, Window: 5 * minute, Cooldown: minute, Successes: 1,
		},
	} {
		cfg := must.Get(Parse("p.yaml", []byte(`pipeline:
  id: parcels
  retry_policy: { max_attempts: 5, base_delay_seconds: 2.0, retryable_status_codes: [429, 503] }
  tolerance: { max_null_rate: 1, halt_on_geometry_invalid: false }
enrich: [{name: place, http: {url: "http://h/", breaker: `+written+`}, set: {a: /a}}]
`), nil))(t)
		if got := *cfg.Enrich[0].HTTP.Breaker; got != want {
			t.Errorf("%s: got %+v, want %+v", written, got, want)
		}
	}
}

func TestBreaker_opensAfterSoManyFailuresInARow(t *testing.T) {
	for _, c := range []struct {
		b    Breaker
		want int
	}{{Breaker{Failures: 5}, 5}, {Breaker{Failures: 5, FailureRate: 0.5, Among: 20}, 10}, {Breaker{Failures: 5, FailureRate: 0.55, Among: 5}, 5}} {
		if got := c.b.Opens(); got != c.want {
			t.Errorf("%+v opens after %d, want %d", c.b, got, c.want)
		}
	}
}
