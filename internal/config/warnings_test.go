package config

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// The golden file has what is warned of in each section of warnings.txt: more text after the smallest legal file, or another tolerance in it.
func TestWarnings_say_what_is_legal_and_not_wise(t *testing.T) {
	all := messages{}
	for _, section := range strings.Split("\n"+string(must.Get(os.ReadFile("testdata/warnings.txt"))(t)), "\n# ")[1:] {
		name, more, _ := strings.Cut(section, "\n")
		file := minimalText
		if strings.HasPrefix(more, "tolerance:") {
			own, rest, _ := strings.Cut(more, "\n")
			file, more = strings.Replace(file, "tolerance: {max_null_rate: 1, halt_on_geometry_invalid: false}", own, 1), rest
		}
		got := Warnings(mustParse(t, file+more+"\n"))
		all.add(strings.Trim(name, `"`), &Faults{Name: "p.yaml", List: got})
		expect.That(t, !slices.ContainsFunc(got, func(f Fault) bool { return f.Line < 1 || f.Fix == "" }), "%s: no line, or nothing to do: %+v", name, got)
	}
	all.golden(t, "warnings")
}

func TestParse_S0_9_whatAFileIsRoundedTo(t *testing.T) {
	for name, c := range map[string]struct {
		floor, rounded string
		want           int
	}{
		"neither":                {"", "", 6},
		"the document's own":     {"6", "", 6},
		"more than the default":  {"8", "", 8},
		"fewer":                  {"3", "", 6},
		"none":                   {"0", "", 6},
		"fewer, and both":        {"3", "3", 3},
		"rounding alone":         {"", "3", 3},
		"whole numbers":          {"", "0", 0},
		"coarser than the floor": {"6", "2", 2},
	} {
		t.Run(name, func(t *testing.T) {
			text := minimalText
			if c.floor != "" {
				text = strings.Replace(text, "max_null_rate: 1", "max_null_rate: 1, precision_decimal_threshold: "+c.floor, 1)
			}
			if c.rounded != "" {
				text += "transform: {geometry: {round_decimals: " + c.rounded + "}}\n"
			}
			cfg := mustParse(t, text)
			expect.Equal(t, *cfg.Transform.Geometry.RoundDecimals, c.want)
			expect.That(t, c.floor == "" || fmt.Sprint(cfg.Pipeline.Tolerance.PrecisionDecimalThreshold) == c.floor, "floor %d", cfg.Pipeline.Tolerance.PrecisionDecimalThreshold)
		})
	}
}

func TestNearest_aBeginningThatFitsOneWord(t *testing.T) {
	words := []string{"coercion_failed", "geometry_invalid", "geometry_empty"}
	for name, want := range map[string]string{"coercion": "coercion_failed", "COERC": "coercion_failed", "geometry": "", "co": "", "": "", strings.Repeat("c", 100): ""} {
		expect.Equal(t, Nearest(name, words), want, name)
	}
}

func TestMapping_names_the_line_of_each_rule(t *testing.T) {
	cfg := mustParse(t, `pipeline:
  id: parcels
  retry_policy: {max_attempts: 1, base_delay_seconds: 1, retryable_status_codes: [503]}
  tolerance: {max_null_rate: 0, halt_on_geometry_invalid: false}
transform:
  fields:
    - {to: a}
    - to: n
      type: integer
`)
	transformer, err := transform.New(cfg.Mapping())
	must.Do(t, err)
	_, err = transformer.Apply(t.Context(), []byte(`{"type":"Feature","geometry":null,"properties":{"n":"x"}}`))
	var failed *transform.Error
	expect.That(t, errors.As(err, &failed) && failed.RuleLine == 8, "got %+v", failed)
}

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
		expect.Equal(t, *cfg.Enrich[0].HTTP.Breaker, want, written)
	}
}

func TestBreaker_opensAfterSoManyFailuresInARow(t *testing.T) {
	for _, c := range []struct {
		b    Breaker
		want int
	}{{Breaker{Failures: 5}, 5}, {Breaker{Failures: 5, FailureRate: 0.5, Among: 20}, 10}, {Breaker{Failures: 5, FailureRate: 0.55, Among: 5}, 5}} {
		expect.Equal(t, c.b.Opens(), c.want, c.b, "opens after")
	}
}
