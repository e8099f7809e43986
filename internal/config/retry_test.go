package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// The file and the engine use the same topic name.
func TestRetryPolicy_C_2_namesTheTopicsOfTheEngine(t *testing.T) {
	topics := Topics{TierPrefix: "features.retry-"}
	for _, delay := range []time.Duration{
		time.Millisecond, 500 * time.Millisecond, 1500 * time.Millisecond, 2 * time.Second, 8 * time.Second,
		time.Minute, 90 * time.Second, 5 * time.Minute, time.Hour, 90 * time.Minute, 24 * time.Hour,
	} {
		got, want := topics.Tier(Duration(delay)), policy.TierTopic(topics.TierPrefix, delay)
		expect.That(t, got == want, "%v: the file names %s, the engine %s", delay, got, want)
	}
}

// policyOf parses a file with this retry policy.
func policyOf(t *testing.T, text string) RetryPolicy {
	t.Helper()
	cfg := mustParse(t, fmt.Sprintf("pipeline:\n  id: p\n  retry_policy: {%s}\n  tolerance: {max_null_rate: 0, halt_on_geometry_invalid: false}\n", text))
	return cfg.Pipeline.RetryPolicy
}

func TestRetryPolicy_C_2_default_tiers(t *testing.T) {
	for _, c := range []struct{ base, more, want string }{
		{"2", "", "[2s 8s 60s]"},
		{"0.5", "", "[500ms 2s 60s]"},
		{"20", "", "[20s 60s]"},
		{"15", "", "[15s 60s]"},
		{"60", "", "[60s]"},
		{"10", "max_delay_seconds: 30", "[10s 30s]"},
		{"1", "max_delay_seconds: 4", "[1s 4s]"},
		{"90", "max_delay_seconds: 3600", "[90s 6m 1h]"},
		{"0.0001", "", "[1ms 60s]"},
		{"0.0000000001", "", "[1ms 60s]"},
		{"2", "strategy: exponential, max_delay_seconds: 600", "[2s 8s 10m]"},
	} {
		p := policyOf(t, "max_attempts: 5, retryable_status_codes: [], base_delay_seconds: "+c.base+", "+c.more)
		expect.Equal(t, fmt.Sprint(p.Tiers), c.want, "base", c.base, c.more)
	}
}

func TestRetryPolicy_given_tiers(t *testing.T) {
	const mandatory = "max_attempts: 5, retryable_status_codes: [503], "
	p := policyOf(t, mandatory+"base_delay_seconds: 5, tiers: [5s, 10m]")
	expect.That(t, p.MaxDelay() == 10*time.Minute, "a longer last tier raises the default cap: got %v", p.MaxDelay())
	p = policyOf(t, mandatory+"base_delay_seconds: 5, tiers: [10s, 20s], strategy: exponential, max_delay_seconds: 15")
	expect.That(t, p.BaseDelay() == 5*time.Second && p.MaxDelay() == 15*time.Second, "with the strategy exponential, the tiers must not change the delays: got %v, %v", p.BaseDelay(), p.MaxDelay())
}

func TestDuration_text(t *testing.T) {
	for text, want := range map[string]string{
		"0s": "0s", "1ms": "1ms", "500ms": "500ms", "1.5s": "1500ms", "2s": "2s", "60s": "60s", "1m": "60s",
		"90s": "90s", "2m": "2m", "60m": "1h", "1h30m": "90m", "24h": "24h", "1500us": "1.5ms", "-2s": "-2s",
	} {
		var d Duration
		must.Do(t, d.UnmarshalText([]byte(text)))
		out, err := d.MarshalText()
		expect.That(t, err == nil && string(out) == want, "%s: got %s, %v; want %s", text, out, err, want)
	}
	var d Duration
	expect.That(t, d.UnmarshalText([]byte("2")) != nil, "a number without a unit is accepted")
}

// S3-2: a policy per category, and its strategy.
func TestRetryPolicy_S3_3_a_category_has_its_preset_and_the_rest_from_the_policy(t *testing.T) {
	p := policyOf(t, `max_attempts: 6, base_delay_seconds: 3, retryable_status_codes: [], jitter: false, policies: {
		timeout: {preset: stac, max_attempts: 9}, network: {strategy: exponential, jitter_seconds: 0, spread: 0},
		server: {jitter_seconds: 4}, database: {preset: postgis}, io: {}}`)
	policies := p.Engine()
	must.Do(t, policies.Faults())
	base := policy.Policy{
		MaxAttempts: 6, Strategy: policy.StrategyTiers, BaseDelay: 3 * time.Second, MaxDelay: time.Minute, Multiplier: 2,
		Spread: 0.25, Jitter: -1, RetryAfterLimit: time.Hour,
	}
	with := func(change func(*policy.Policy)) policy.Policy {
		p := base
		change(&p)
		return p
	}
	for category, want := range map[classify.Category]policy.Policy{
		classify.CategoryBroker: base,
		classify.CategoryTimeout: with(func(p *policy.Policy) {
			p.MaxAttempts, p.Strategy, p.BaseDelay, p.MaxDelay = 9, policy.StrategyEqualJitter, time.Second, 30*time.Second
		}),
		classify.CategoryNetwork:  with(func(p *policy.Policy) { p.Strategy, p.Spread = policy.StrategyExponential, -1 }),
		classify.CategoryServer:   with(func(p *policy.Policy) { p.Jitter = 4 * time.Second }),
		classify.CategoryDatabase: with(func(p *policy.Policy) { p.Strategy, p.BaseDelay = policy.StrategyProportionalJitter, 5*time.Second }),
		classify.CategoryIO:       with(func(p *policy.Policy) { p.MaxAttempts = 2 }),
	} {
		expect.Equal(t, policies.For(category), want, category)
	}
}

// TestParse_S1_3_CI_caps_the_attempts checks that a build server makes at most three attempts, whatever the policy
// and the preset.
func TestParse_S1_3_CI_caps_the_attempts(t *testing.T) {
	const file = `
pipeline:
  id: p
  retry_policy:
    max_attempts: %d
    base_delay_seconds: 2
    retryable_status_codes: [503]
    ci_max_attempts: %d
    policies: {network: {preset: wfs}, timeout: {max_attempts: 2}}
  tolerance: {max_null_rate: 0, halt_on_geometry_invalid: false}
`
	for _, c := range []struct {
		ci                               string
		attempts, limit                  int
		base, network, timeout, database int
		capped                           bool
	}{
		{"true", 5, 3, 3, 3, 2, 3, true},
		{"TRUE", 2, 3, 2, 3, 2, 2, true},
		{"", 5, 3, 5, 7, 2, 5, false},
		{"false", 5, 3, 5, 7, 2, 5, false},
		{"true", 5, 0, 5, 7, 2, 5, false},
		{"true", 5, 7, 5, 7, 2, 5, false},
	} {
		t.Run(fmt.Sprintf("CI=%s, %d attempts, cap %d", c.ci, c.attempts, c.limit), func(t *testing.T) {
			cfg := must.Get(Parse("p.yaml", fmt.Appendf(nil, file, c.attempts, c.limit), func(name string) string {
				return map[string]string{"CI": c.ci}[name]
			}))(t)
			policies := cfg.Pipeline.RetryPolicy.Engine()
			got := []int{cfg.Pipeline.RetryPolicy.MaxAttempts}
			for _, category := range []classify.Category{classify.CategoryNetwork, classify.CategoryTimeout, classify.CategoryDatabase} {
				got = append(got, policies.For(category).MaxAttempts)
			}
			want := []int{c.base, c.network, c.timeout, c.database}
			expect.That(t, fmt.Sprint(got) == fmt.Sprint(want), "attempts %v, want %v", got, want)
			_, capped := cfg.CappedByCI()
			expect.That(t, capped == c.capped, "capped is %v", capped)
			production := cfg.Uncapped().Pipeline.RetryPolicy
			n := production.Engine().For(classify.CategoryNetwork).MaxAttempts
			expect.That(t, production.MaxAttempts == c.attempts && n == 7, "uncapped, there are %d attempts, and %d of network", production.MaxAttempts, n)
		})
	}
}

// S1-6: the Retry-After limit is compared with the delay that the pipeline can really use, not with a figure that no
// strategy uses.
func TestRetryPolicy_S1_6_the_limit_is_at_least_the_longest_delay(t *testing.T) {
	const mandatory = "max_attempts: 5, retryable_status_codes: [], "
	for text, want := range map[string]time.Duration{
		"base_delay_seconds: 1, tiers: [1s, 2s]":                                                           2 * time.Second,
		"base_delay_seconds: 2":                                                                            time.Minute,
		"base_delay_seconds: 2, strategy: fixed":                                                           2 * time.Second,
		"base_delay_seconds: 2, strategy: full_jitter, max_delay_seconds: 7200":                            2 * time.Hour,
		"base_delay_seconds: 1, tiers: [1s, 2s], policies: {timeout: {preset: wfs}}":                       2 * time.Minute,
		"base_delay_seconds: 1, tiers: [1s, 2s], policies: {io: {strategy: fixed, base_delay_seconds: 9}}": 9 * time.Second,
	} {
		p := policyOf(t, mandatory+text)
		expect.Equal(t, p.longestDelay(), want, text, "the longest delay")
		expect.Equal(t, p.RetryAfterLimit.Std(), max(time.Hour, want), text, "the limit defaults to")
	}
}

// Every anti-pattern of S3-6 is refused in each form. The golden file has the reason and the position.
func TestForbidden_S3_6(t *testing.T) {
	files := must.Get(filepath.Glob("testdata/bad/forbidden_*.yaml"))(t)
	expect.Equal(t, len(files), 23, "files")
	for _, path := range files {
		faults := faultsOf(t, path).List
		expect.That(t, len(faults) == 1 && strings.Contains(faults[0].Message, "forbidden: "), "%s: want one fault with the reason, got %+v", path, faults)
	}
}

func TestRules_reach_the_classifier(t *testing.T) {
	p := policyOf(t, `max_attempts: 5, base_delay_seconds: 2, retryable_status_codes: [], rules: [{status: 409, class: retry_backoff, category: conflict}]`)
	c := classify.New(p.Classification())
	f := c.Of(&classify.HTTPError{Status: 409})
	expect.That(t, f.Class == classify.RetryBackoff && f.Category == classify.CategoryConflict, "%+v", f)
	expect.Equal(t, c.Of(&classify.HTTPError{Status: 503}).Class, classify.Permanent, "class of 503 with an empty list of retryable statuses")
}

// The golden file has the warnings for each section of warnings.txt: text that is added to the smallest valid file, or
// another tolerance in it.
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

// The figures of S4-5 and S3-5 are presets. Explicit values override them.
func TestBreakerPresets_S4_5_S3_5(t *testing.T) {
	minute, half := Duration(time.Minute), Duration(30*time.Second)
	for written, want := range map[string]Breaker{
		"{}":                  {Preset: BreakerSteady, Failures: 5, FailureRate: 0.5, Among: 20, Window: minute, Cooldown: half, Successes: 2},
		"{preset: standard}":  {Preset: BreakerStandard, Failures: 5, Window: minute, Cooldown: half, Successes: 2},
		"{preset: patient}":   {Preset: BreakerPatient, Failures: 3, Window: 5 * minute, Cooldown: 5 * minute, Successes: 1},
		"{failures: 3}":       {Preset: BreakerSteady, Failures: 3, FailureRate: 0.5, Among: 20, Window: minute, Cooldown: half, Successes: 2},
		"{failure_rate: 0.9}": {Preset: BreakerSteady, Failures: 5, FailureRate: 0.9, Among: 20, Window: minute, Cooldown: half, Successes: 2},
		"{preset: patient, failure_rate: 0.5, cooldown: 1m}": {Preset: BreakerPatient, Failures: 3, FailureRate: 0.5, Window: 5 * minute, Cooldown: minute, Successes: 1},
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
