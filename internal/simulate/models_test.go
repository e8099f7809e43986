package simulate

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

const place = `enrich: [{name: place, http: {url: "http://h/", timeout: 1s, max_connections: 50}, set: {a: /a}}]`

// rated has a breaker that opens at a share of failures.
const rated = `enrich: [{name: place, http: {url: "http://h/", timeout: 1s, max_connections: 50, breaker: {failures: 25, among: 0}}, set: {a: /a}}]`

// counted has the breaker of S4-5, which opens at a number of failures.
const counted = `enrich: [{name: place, http: {url: "http://h/", timeout: 1s, max_connections: 50, breaker: {preset: standard}}, set: {a: /a}}]`
const guarded = `enrich: [{name: place, http: {url: "http://h/", timeout: 1s, max_connections: 50, breaker: {}}, set: {a: /a}}]`

// patient lets a Retry-After delay the refused record alone.
const patient = `enrich: [{name: place, http: {url: "http://h/", timeout: 1s, max_connections: 50, retry_after: record}, set: {a: /a}}]`

// gated is a pipeline whose gates are those of the defaults.
const gated = place + "\n# gated"

// mirrored has a fallback; both have a breaker, and the first one's is slow to probe.
const mirrored = `enrich:
  - name: place
    providers:
      - { name: main, http: { url: "http://h/", timeout: 1s, max_connections: 50, breaker: {} } }
      - { name: mirror, http: { url: "http://m/", timeout: 1s, max_connections: 50, breaker: {} } }
    set: { a: /a }`

// limited keeps a rate by itself; spilling goes to a fallback beyond it; remembering keeps answers.
const limited = `enrich: [{name: place, http: {url: "http://h/", timeout: 2s, max_connections: 50, rate: {per_second: 60, burst: 5}}, set: {a: /a}}]`
const spilling = `enrich:
  - name: place
    providers:
      - { name: main, http: { url: "http://h/", timeout: 500ms, max_connections: 60, rate: { per_second: 60 } } }
      - { name: mirror, http: { url: "http://m/", timeout: 1s, max_connections: 50 } }
    set: { a: /a }`
const remembering = `enrich: [{name: place, http: {url: "http://h/", timeout: 1s, max_connections: 50, cache: {}, breaker: {}}, set: {a: /a}}]`

// gates gives the tolerance of the default, or none.
func gates(rest string) string {
	if strings.HasSuffix(rest, "# gated") {
		return "min_records: 200"
	}
	return "max_transient_rate: 1, max_dead_letter_rate: 1"
}

// system is a pipeline with the defaults of the design; policy is more of its retry_policy, in braces' form.
func system(t testing.TB, rest string, policy ...string) System {
	t.Helper()
	cfg, err := config.Parse("pipeline.yaml", []byte(`pipeline:
  id: parcels
  retry_policy: { max_attempts: 5, base_delay_seconds: 2.0, retryable_status_codes: [429, 502, 503, 504]`+strings.Join(policy, "")+` }
  tolerance: { max_null_rate: 1, halt_on_geometry_invalid: false, `+gates(rest)+` }
`+rest), nil)
	if err != nil {
		t.Fatal(err)
	}
	policies := cfg.Pipeline.RetryPolicy.Engine()
	var tiers []retrytopics.Tier
	for i, d := range cfg.Pipeline.RetryPolicy.TierDelays() {
		tiers = append(tiers, retrytopics.Tier{Topic: cfg.TierTopics()[i], Delay: d})
	}
	return NewSystem(cfg, retrytopics.Config{Retries: retrytopics.Retries{Tiers: tiers, Classify: classify.Of, Policy: policies.Default, ByCategory: policies.ByCategory}})
}

func play(t testing.TB, sys System, text string, m Model) Report {
	t.Helper()
	s, err := ParseScenario("scenario.yaml", []byte(text), sys)
	if err != nil {
		t.Fatal(err)
	}
	s.Model = m
	r, err := Run(t.Context(), sys, s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// scenarios are small enough for every event to be played, and together have everything that a scenario can say.
func scenarios() map[string]struct{ pipeline, text, policy string } {
	return map[string]struct{ pipeline, text, policy string }{
		"full jitter":                     {place, "rate: 200\nduration: 4m\nproviders: [{name: place, errors: {share: 0.3}}]", ", strategy: full_jitter"},
		"decorrelated jitter":             {place, "rate: 200\nduration: 4m\nproviders: [{name: place, errors: {share: 0.3}}]", ", strategy: decorrelated_jitter"},
		"a policy of its own":             {place, "rate: 100\nduration: 4m\nproviders: [{name: place, errors: {share: 0.3, answer: timeout}}]", ", policies: {timeout: {max_attempts: 2}}"},
		"errors":                          {place, "rate: 200\nduration: 4m\nproviders: [{name: place, errors: {share: 0.3}}]", ""},
		"bad records":                     {place, "rate: 200\nduration: 4m\nbad_records: 0.02\nproviders: [{name: place, errors: {share: 0.1, answer: http_404}}]", ""},
		"outage":                          {place, "rate: 80\nduration: 6m\nproviders: [{name: place, outages: [{from: 2m, for: 90s}]}]", ""},
		"outage with a breaker":           {guarded, "rate: 80\nduration: 6m\nproviders: [{name: place, outages: [{from: 2m, for: 90s, answer: timeout}]}]", ""},
		"outage with a breaker by rate":   {rated, "rate: 80\nduration: 6m\nproviders: [{name: place, errors: {share: 0.1}, outages: [{from: 2m, for: 90s}]}]", ""},
		"outage with a breaker by number": {counted, "rate: 80\nduration: 6m\nproviders: [{name: place, outages: [{from: 2m, for: 90s}]}]", ""},
		"a fallback in an outage":         {mirrored, "rate: 80\nduration: 6m\nproviders: [{name: place/main, outages: [{from: 2m, for: 90s}]}, {name: place/mirror, latency: 100ms, errors: {share: 0.05}}]", ""},
		"both are down":                   {mirrored, "rate: 80\nduration: 6m\nproviders: [{name: place/main, outages: [{from: 2m, for: 90s}]}, {name: place/mirror, outages: [{from: 150s, for: 30s}]}]", ""},
		"a rate of its own":               {limited, "rate: 55\nduration: 4m\ninstances: 1\nproviders: [{name: place, errors: {share: 0.05}}]", ""},
		"more than its own rate":          {limited, "rate: 80\nduration: 2m\nproviders: [{name: place, latency: 10ms}]", ""},
		"a rate that spills":              {spilling, "rate: 100\nduration: 3m\nproviders: [{name: place/main}, {name: place/mirror, errors: {share: 0.05}}]", ""},
		"a cache in an outage":            {remembering, "rate: 80\nduration: 6m\nproviders: [{name: place, cache_hits: 0.7, errors: {share: 0.05}, outages: [{from: 2m, for: 90s}]}]", ""},
		"a gate holds":                    {gated, "rate: 50\nduration: 15m\nresume_after: 10m\nproviders: [{name: place, outages: [{from: 3m, for: 5m}]}]", ""},
		"errors and a breaker":            {guarded, "rate: 200\nduration: 4m\nproviders: [{name: place, errors: {share: 0.1}}]", ""},
		"rare errors and a breaker":       {counted, "rate: 50\nduration: 20m\ninstances: 2\nproviders: [{name: place, errors: {share: 0.0003}}]", ""},
		"rate limit":                      {place, "rate: 60\nduration: 6m\nproviders: [{name: place, rate_limit: {per_second: 50, retry_after: 5s}}]", ""},
		"retry after beyond the tiers":    {patient, "rate: 80\nduration: 4m\nproviders: [{name: place, errors: {share: 0.2, retry_after: 150s}}]", ""},
		"too few connections":             {place, "rate: 300\nduration: 90s\nproviders: [{name: place, latency: 200ms, errors: {share: 0.05}}]", ""},
		"partial outage, two dependencies": {place, `rate: 100
duration: 5m
providers:
  - { name: place, latency: 10ms, errors: { share: 0.05 } }
  - { name: handler, latency: 30ms, outages: [{ from: 1m, for: 30s, share: 0.5, answer: refused }] }`, ""},
	}
}

// representative scenarios run in every tier. Each covers one mechanism.
var representative = []string{"errors", "outage with a breaker", "both are down", "a gate holds", "rate limit", "a cache in an outage"}

// The fluid model says what the exact one says: amounts within 3 % (or within what chance does to few), times within 5 %
// or some seconds. Every record is delivered, dead or unfinished in both.
func TestModels_S0_12_fluidAgreesWithExact(t *testing.T) {
	t.Parallel()
	for name, c := range scenarios() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if !slices.Contains(representative, name) {
				testrun.Nightly(t)
			}
			sys := system(t, c.pipeline, c.policy)
			exact, fluid := play(t, sys, c.text, ModelExact), play(t, sys, c.text, ModelFluid)
			for _, r := range []Report{exact, fluid} {
				if sum := r.Delivered + r.DeadLettered + r.Superseded + r.Unfinished; math.Abs(sum-r.Records) > 1e-6*r.Records+0.5 {
					t.Errorf("%s: %v records, %v accounted for", r.Model, r.Records, sum)
				}
			}
			near := func(what string, a, b, share, slack float64) {
				t.Helper()
				if math.Abs(a-b) > share*math.Max(a, b)+slack {
					t.Errorf("%s: exact %v, fluid %v", what, a, b)
				}
			}
			chance := func(n float64) float64 { return 5 * math.Sqrt(n) }
			near("records", exact.Records, fluid.Records, 0, chance(exact.Records))
			near("dead letters", exact.DeadLettered, fluid.DeadLettered, 0.03, 1+chance(exact.DeadLettered))
			near("retries", exact.Retries, fluid.Retries, 0.03, 1+chance(exact.Retries))
			for i, p := range exact.Providers {
				near("requests to "+p.Name, p.Requests, fluid.Providers[i].Requests, 0.03, chance(exact.Records))
				near("rate limited by "+p.Name, p.Limited, fluid.Providers[i].Limited, 0.05, chance(exact.Records))
				near("fallbacks to "+p.Name, p.Fallbacks, fluid.Providers[i].Fallbacks, 0.05, chance(exact.Records))
				near("kept of "+p.Name, p.Cached, fluid.Providers[i].Cached, 0.03, chance(exact.Records))
			}
			near("held", float64(exact.HeldTime), float64(fluid.HeldTime), 0.02, 3)
			for i, h := range exact.Holds {
				near("held at", float64(h.At), float64(fluid.Holds[i].At), 0.05, 5)
			}
			for i := range exact.Tiers {
				near("peak of "+exact.Tiers[i].Topic, exact.Tiers[i].Peak, fluid.Tiers[i].Peak, 0.1, 3+chance(exact.Tiers[i].Peak))
			}
			near("drain", medianDrain(t, sys, c.text), float64(*fluid.DrainTime), 0.2, 8)
			near("peak lag", exact.PeakLag, fluid.PeakLag, 0.1, 400)
			for i := range exact.Recovery {
				near("recovery", float64(*exact.Recovery[i].Took), float64(*fluid.Recovery[i].Took), 0.1, 6)
			}
		})
	}
}

// medianDrain is how long the exact model takes to drain, in seconds: what the last few records go through is chance.
func medianDrain(t *testing.T, sys System, text string) float64 {
	t.Helper()
	var all []float64
	for seed := range 5 {
		all = append(all, float64(*play(t, sys, fmt.Sprintf("seed: %d\n%s", seed, text), ModelExact).DrainTime))
	}
	slices.Sort(all)
	return all[len(all)/2]
}

func TestRun_theSameSeedGivesTheSameReport(t *testing.T) {
	t.Parallel()
	sys := system(t, guarded)
	text := "rate: 100\nduration: 2m\nseed: 9\nproviders: [{name: place, errors: {share: 0.01}, outages: [{from: 30s, for: 20s}]}]"
	for _, m := range []Model{ModelExact, ModelFluid} {
		if !reflect.DeepEqual(play(t, sys, text, m), play(t, sys, text, m)) {
			t.Errorf("%s: two runs differ", m)
		}
	}
}

// A day of a million records a second is computed in steps of time, so that its cost does not grow with the rate.
func TestFluid_S0_12_aDayAtAMillionASecond(t *testing.T) {
	t.Parallel()
	sys := system(t, place)
	r := play(t, sys, `rate: 1000000
duration: 24h
instances: 2000
providers: [{name: place, errors: {share: 0.05}}]
`, ModelAuto)
	if r.Model != ModelFluid || r.Records != 86.4e9 || r.DrainTime == nil {
		t.Fatalf("%+v", r)
	}
	if want := math.Pow(0.05, 5); math.Abs(r.DLQShare-want) > 0.02*want {
		t.Errorf("%v of the records die, want about %v", r.DLQShare, want)
	}
	// 1,000,000 records a second fail 0.05 times and wait 2.5 s on average.
	if calm := r.Series[10].Waiting[0]; math.Abs(calm-125_000) > 2500 {
		t.Errorf("%v wait in the first tier in calm times, want about 125,000", calm)
	}
}

func TestRun_stopsWithItsContext(t *testing.T) {
	t.Parallel()
	sys := system(t, place)
	for _, m := range []Model{ModelExact, ModelFluid} {
		s := Default(sys, 1e5, time.Hour)
		s.Model = m
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := Run(ctx, sys, s); err == nil {
			t.Errorf("%s went on", m)
		}
	}
}
