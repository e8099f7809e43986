package simulate

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// A scenario is as strict as a pipeline file: every fault has its line, its column and what to do.
func TestParseScenario_S0_12_namesEveryFault(t *testing.T) {
	t.Parallel()
	_, err := ParseScenario("s.yaml", []byte(`rate: 0
duration: 1h
speed: 3
providers:
  - name: place
    errors: { share: 1.5, answer: http_200 }
    outages: [{ from: 2h }]
expect: { max_dlq_share: yes }
`), system(t, place))
	faults := faultLines(t, err)
	for _, want := range []string{
		"s.yaml:1:7: rate: 0 is out of range", "s.yaml:3:1: speed: unknown key; did you mean seed?",
		"s.yaml:6:22: providers[0].errors.share: 1.5 is out of range", "providers[0].outages[0].for: is mandatory", "max_dlq_share",
	} {
		expect.That(t, strings.Contains(faults, want), "no word of %q in\n%s", want, faults)
	}
	_, err = ParseScenario("s.yaml", []byte(`duration: 1h
providers:
  - { name: place, errors: { share: 0.5, answer: http_200 } }
  - { name: place }
  - { name: plaice, outages: [{ from: 2h, for: 1s, answer: dns }] }
`), system(t, place))
	faults = faultLines(t, err)
	for _, want := range []string{
		`s.yaml:3:50: providers[0].errors.answer: unknown answer "http_200"`, "s.yaml:4:13: providers[1].name: \"place\" is listed twice",
		`s.yaml:5:13: providers[2].name: "plaice" is no remote step of the pipeline; write one of place, handler`,
		"providers[2].outages[0].from: 2h is not before the end", `unknown answer "dns"`,
	} {
		expect.That(t, strings.Contains(faults, want), "no word of %q in\n%s", want, faults)
	}
}

// A step with several providers has each of them under a name of its own.
func TestParseScenario_S2_6_namesProvidersOfAStep(t *testing.T) {
	t.Parallel()
	_, err := ParseScenario("s.yaml", []byte(`providers:
  - { name: place }
  - { name: place/main, cache_hits: 0.5 }
  - { name: place/other }
`), system(t, mirrored))
	faults := faultLines(t, err)
	for _, want := range []string{
		"s.yaml:2:13: providers[0].name: step place has several providers; write one of them, such as place/main",
		"s.yaml:3:37: providers[1].cache_hits: place/main has no cache in the pipeline",
		`"place/other" is no remote step of the pipeline; write one of place/main, place/mirror, handler`,
	} {
		expect.That(t, strings.Contains(faults, want), "no word of %q in\n%s", want, faults)
	}
}

func faultLines(t *testing.T, err error) string {
	t.Helper()
	faults, ok := err.(*config.Faults)
	must.That(t, ok, "%v is no list of faults", err)
	return faults.Error()
}

func FuzzParseScenario(f *testing.F) {
	for _, c := range scenarios() {
		f.Add([]byte(c.text))
	}
	f.Add([]byte("expect: { max_drain_time: 1m }"))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := ParseScenario("s.yaml", text, System{Steps: []Step{{Name: "place", Services: []Service{{Name: "place", Cached: true}}}}})
		expect.That(t, err != nil || s.Rate > 0 && s.Duration > 0 && s.Instances >= 1, "%q is taken as %+v", text, s)
	})
}

func TestDefault_isALegalScenario(t *testing.T) {
	t.Parallel()
	for name, sys := range map[string]System{"a step": system(t, place), "a fallback": system(t, mirrored), "none": system(t, "")} {
		for _, d := range []time.Duration{time.Second, time.Hour, 24 * time.Hour} {
			s := Default(sys, 1000, d)
			s.check(sys, func(path, message, _ string) { t.Errorf("%s, %v: %s: %s", name, d, path, message) })
			expect.That(t, len(s.Providers) == max(1, len(sys.services())) && s.Providers[0].Outages[0].For > 0, "%s, %v: %+v", name, d, s.Providers)
		}
	}
}

// Every expectation holds where its limit is generous and breaks where it is not.
func TestExpect_S0_12_eachCanHoldAndBreak(t *testing.T) {
	t.Parallel()
	sys := system(t, place)
	run := `rate: 100
duration: 4m
bad_records: 0.01
providers: [{name: place, latency: 100ms, errors: {share: 0.2}, outages: [{from: 1m, for: 30s, answer: timeout}]}]
expect: { `
	for key, limits := range map[string][2]string{ // what holds, what breaks
		"max_dlq_share": {"0.5", "0.001"}, "max_drain_time": {"1h", "1s"}, "max_recovery_time": {"1h", "1ms"}, "max_provider_rps": {"10000", "10"},
		"max_lateness": {"1h", "0s"}, "max_waiting": {"100000", "1"}, "max_lag": {"1000000", "5"}, "max_amplification": {"5", "1.01"},
		"max_transient_share": {"1", "0.01"},
	} {
		for i, want := range []bool{true, false} {
			r := play(t, sys, run+key+": "+limits[i]+" }")
			expect.That(t, len(r.Expectations) == 1 && r.Expectations[0].Expectation == key && r.Expectations[0].OK == want && (len(r.Broken()) == 0) == want,
				"%s at most %s: %+v", key, limits[i], r.Expectations)
		}
	}
}

// How long gates hold the pipeline can be expected, too.
func TestExpect_S1_8_heldTime(t *testing.T) {
	t.Parallel()
	text := "rate: 50\nduration: 12m\nresume_after: 10m\nproviders: [{name: place, outages: [{from: 2m, for: 5m}]}]\nexpect: { max_held_time: %s }"
	for limit, ok := range map[string]bool{"1h": true, "0s": false} {
		r := play(t, system(t, gated), fmt.Sprintf(text, limit))
		expect.That(t, len(r.Expectations) == 1 && r.Expectations[0].OK == ok && (ok || strings.Contains(r.Expectations[0].Why, "max_transient_rate")), "at most %s: %+v", limit, r.Expectations)
	}
}

// A provider that never answers again keeps the breaker open: the backlog never goes, and the report says so instead of
// giving a time.
func TestExpect_aDrainThatNeverComes(t *testing.T) {
	t.Parallel()
	r := play(t, system(t, guarded), `rate: 2
duration: 1m
providers: [{name: place, errors: {share: 1}}]
expect: { max_drain_time: 8760h }
`)
	expect.That(t, r.DrainTime == nil && r.Unfinished != 0 && len(r.Broken()) == 1 && r.Broken()[0].Actual == nil, "drain %v, unfinished %v, %+v", r.DrainTime, r.Unfinished, r.Expectations)
	text, err := json.Marshal(r)
	expect.That(t, err == nil && strings.Contains(string(text), `"drain_seconds":null`), "%v", err)
}

// An outage is not a data error: behind a breaker it kills nothing and spends no attempt beyond those that opened it.
func TestSimulate_S4_5_anOutageBehindABreakerKillsNothing(t *testing.T) {
	t.Parallel()
	text := "rate: 100\nduration: 10m\nproviders: [{name: place, outages: [{from: 2m, for: 5m}]}]"
	open, held := play(t, system(t, place), text), play(t, system(t, guarded), text)
	expect.That(t, open.DeadLettered >= 1000 && held.DeadLettered == 0 && held.Retries <= 9, "%v dead without a breaker, %v with one, %v retries", open.DeadLettered, held.DeadLettered, held.Retries)
}

// Retry-After is obeyed: a limited provider is not asked again before it said.
func TestTimeline_S1_6_followsRetryAfter(t *testing.T) {
	t.Parallel()
	r := play(t, system(t, place), "rate: 1\nduration: 1s\nproviders: [{name: place, rate_limit: {per_second: 1, retry_after: 30s}}]")
	must.That(t, len(r.Timelines) == 1 && len(r.Timelines[0].Waits) == 4, "%+v", r.Timelines)
	for _, w := range r.Timelines[0].Waits {
		expect.That(t, w.Least == 30 && w.Most >= 30.9 && w.Topic == "parcels.retry-60s", "%+v", w)
	}
}
