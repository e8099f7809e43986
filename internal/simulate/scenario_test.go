package simulate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// A scenario is parsed as strictly as a pipeline file: every fault is reported with line, column and a remedy.
func TestParseScenario_S0_12_namesEveryFault(t *testing.T) {
	t.Parallel()
	_, err := ParseScenario("s.yaml", []byte(`rate: 0
duration: 1h
speed: 3
providers:
  - name: place
    errors: { share: 1.5, answer: http_200 }
    outages: [{ from: 2h }]
    rate_limit: { per_second: 10, burst: 2.5 }
expect: { max_dlq_share: yes }
`), system(t, place))
	faults := faultLines(t, err)
	for _, want := range []string{
		"s.yaml:1:7: rate: 0 is out of range", "s.yaml:3:1: speed: unknown key; did you mean seed?",
		"s.yaml:6:22: providers[0].errors.share: 1.5 is out of range", "providers[0].outages[0].for: is mandatory", "max_dlq_share",
		"s.yaml:8:42: providers[0].rate_limit.burst: expected a whole number",
	} {
		expect.That(t, strings.Contains(faults, want), "%q is missing in\n%s", want, faults)
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
		`s.yaml:5:13: providers[2].name: "plaice" is not a remote step of the pipeline; write one of place, handler`,
		"providers[2].outages[0].from: 2h is not before the end", `unknown answer "dns"`,
	} {
		expect.That(t, strings.Contains(faults, want), "%q is missing in\n%s", want, faults)
	}
}

// Each provider of a step with several providers has its own name.
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
		`"place/other" is not a remote step of the pipeline; write one of place/main, place/mirror, handler`,
	} {
		expect.That(t, strings.Contains(faults, want), "%q is missing in\n%s", want, faults)
	}
}

func faultLines(t *testing.T, err error) string {
	t.Helper()
	faults, ok := err.(*config.Faults)
	must.That(t, ok, "%v is not a list of faults", err)
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

// Every expectation holds with a generous limit and fails with a tight one.
func TestExpect_S0_12_eachCanHoldAndBreak(t *testing.T) {
	t.Parallel()
	text := `rate: 100
duration: 4m
bad_records: 0.01
providers: [{name: place, latency: 100ms, errors: {share: 0.2}, outages: [{from: 1m, for: 30s, answer: timeout}]}]
expect: { `
	for holds, limits := range map[bool]string{
		true:  "max_dlq_share: 0.5, max_drain_time: 1h, max_recovery_time: 1h, max_provider_rps: 10000, max_lateness: 1h, max_waiting: 100000, max_lag: 1000000, max_amplification: 5, max_transient_share: 1 }",
		false: "max_dlq_share: 0.001, max_drain_time: 1s, max_recovery_time: 1ms, max_provider_rps: 10, max_lateness: 0s, max_waiting: 1, max_lag: 5, max_amplification: 1.01, max_transient_share: 0.01 }",
	} {
		r := play(t, system(t, place), text+limits)
		expect.That(t, len(r.Expectations) == 9 && (len(r.Broken()) == 0) == holds, "%s: %+v", limits, r.Expectations)
		for _, v := range r.Expectations {
			expect.That(t, v.OK == holds && strings.Contains(limits, v.Expectation+": "), "%s: %+v", limits, v)
		}
	}
}

// The time for which gates pause the pipeline can be expected, too.
func TestExpect_S1_8_heldTime(t *testing.T) {
	t.Parallel()
	text := "rate: 50\nduration: 12m\nresume_after: 10m\nproviders: [{name: place, outages: [{from: 2m, for: 5m}]}]\nexpect: { max_paused_time: %s }"
	for limit, ok := range map[string]bool{"1h": true, "0s": false} {
		r := play(t, system(t, gated), fmt.Sprintf(text, limit))
		expect.That(t, len(r.Expectations) == 1 && r.Expectations[0].OK == ok && (ok || strings.Contains(r.Expectations[0].Why, "max_transient_rate")), "at most %s: %+v", limit, r.Expectations)
	}
}

// A provider that never recovers keeps the breaker open: the backlog never drains, and the report states that instead
// of a time.
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

// S4-5: an outage is not a data error: behind a breaker it causes no dead letter, and uses no attempt beyond those that
// opened the breaker.
func TestSimulate_S4_5_anOutageBehindABreakerKillsNothing(t *testing.T) {
	t.Parallel()
	text := "rate: 30\nduration: 10m\nproviders: [{name: place, outages: [{from: 2m, for: 5m}]}]"
	open, paused := play(t, system(t, place), text), play(t, system(t, guarded), text)
	expect.That(t, open.DeadLettered >= 300 && paused.DeadLettered == 0 && paused.Retries <= 9, "%v dead without a breaker, %v with one, %v retries", open.DeadLettered, paused.DeadLettered, paused.Retries)
}

// Retry-After is obeyed: a limited provider gets no request before that time.
func TestTimeline_S1_6_followsRetryAfter(t *testing.T) {
	t.Parallel()
	r := play(t, system(t, place), "rate: 1\nduration: 1s\nproviders: [{name: place, rate_limit: {per_second: 1, retry_after: 30s}}]")
	must.That(t, len(r.Timelines) == 1 && len(r.Timelines[0].Waits) == 4, "%+v", r.Timelines)
	for _, w := range r.Timelines[0].Waits {
		expect.That(t, w.Least == 30 && w.Most >= 30.9 && w.Topic == "parcels.retry-60s", "%+v", w)
	}
}

const place = `enrich: [{name: place, http: {url: "http://h/", timeout: 1s, max_connections: 50}, set: {a: /a}}]`

// rated has a breaker that opens at a share of failures.
const rated = `enrich: [{name: place, http: {url: "http://h/", timeout: 1s, max_connections: 50, breaker: {failures: 25, among: 0}}, set: {a: /a}}]`

// counted has the breaker of S4-5, which opens at a number of failures.
const counted = `enrich: [{name: place, http: {url: "http://h/", timeout: 1s, max_connections: 50, breaker: {preset: standard}}, set: {a: /a}}]`
const guarded = `enrich: [{name: place, http: {url: "http://h/", timeout: 1s, max_connections: 50, breaker: {}}, set: {a: /a}}]`

// patient makes a Retry-After delay only the refused record.
const patient = `enrich: [{name: place, http: {url: "http://h/", timeout: 1s, max_connections: 50, retry_after: record}, set: {a: /a}}]`

// gated is a pipeline with the default gates.
const gated = place + "\n# gated"

// mirrored has a fallback. Both providers have a breaker, and the first breaker probes slowly.
const mirrored = `enrich:
  - name: place
    providers:
      - { name: main, http: { url: "http://h/", timeout: 1s, max_connections: 50, breaker: {} } }
      - { name: mirror, http: { url: "http://m/", timeout: 1s, max_connections: 50, breaker: {} } }
    set: { a: /a }`

// limited has a rate limit; spilling uses a fallback for further requests; remembering caches answers.
const limited = `enrich: [{name: place, http: {url: "http://h/", timeout: 2s, max_connections: 50, rate: {per_second: 60, burst: 5}}, set: {a: /a}}]`
const spilling = `enrich:
  - name: place
    providers:
      - { name: main, http: { url: "http://h/", timeout: 500ms, max_connections: 60, rate: { per_second: 60 } } }
      - { name: mirror, http: { url: "http://m/", timeout: 1s, max_connections: 50 } }
    set: { a: /a }`
const remembering = `enrich: [{name: place, http: {url: "http://h/", timeout: 1s, max_connections: 50, cache: {}, breaker: {}}, set: {a: /a}}]`

// tolerance returns the tolerance of the pipeline: the default rates, or none.
func tolerance(rest string) string {
	if strings.HasSuffix(rest, "# gated") {
		return "min_records: 200"
	}
	return "max_transient_rate: 1, max_dead_letter_rate: 1"
}

// system returns a pipeline with default settings. chosen is added to its retry_policy.
func system(t testing.TB, rest string, chosen ...string) System {
	t.Helper()
	cfg := must.Get(config.Parse("pipeline.yaml", []byte(`pipeline:
  id: parcels
  retry_policy: { max_attempts: 5, base_delay_seconds: 2.0, retryable_status_codes: [429, 502, 503, 504]`+strings.Join(chosen, "")+` }
  tolerance: { max_null_rate: 1, halt_on_geometry_invalid: false, `+tolerance(rest)+` }
`+rest), nil))(t)
	policies := cfg.Pipeline.RetryPolicy.Engine()
	var tiers []policy.Tier
	for i, d := range cfg.Pipeline.RetryPolicy.TierDelays() {
		tiers = append(tiers, policy.Tier{Topic: cfg.TierTopics()[i], Delay: d})
	}
	return NewSystem(cfg, retrytopics.Config{Retries: retrytopics.Retries{Tiers: tiers, Classify: classify.Of, Policy: policies.Default, ByCategory: policies.ByCategory}})
}

func play(t testing.TB, sys System, text string) Report {
	t.Helper()
	s := must.Get(ParseScenario("scenario.yaml", []byte(text), sys))(t)
	return must.Get(Run(t.Context(), sys, s))(t)
}

// scenarios are small, and together use every feature of the format.
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
		"rate limit":                      {place, "rate: 60\nduration: 3m\nproviders: [{name: place, rate_limit: {per_second: 50, retry_after: 5s}}]", ""},
		"retry after beyond the tiers":    {patient, "rate: 80\nduration: 4m\nproviders: [{name: place, errors: {share: 0.2, retry_after: 150s}}]", ""},
		"too few connections":             {place, "rate: 300\nduration: 90s\nproviders: [{name: place, latency: 200ms, errors: {share: 0.05}}]", ""},
		"partial outage, two dependencies": {place, `rate: 100
duration: 5m
providers:
  - { name: place, latency: 10ms, errors: { share: 0.05 } }
  - { name: handler, latency: 30ms, outages: [{ from: 1m, for: 30s, share: 0.5, answer: refused }] }`, ""},
	}
}

// Every record is delivered, a dead letter, superseded or unfinished, whatever the providers do, and no record waits
// forever.
func TestRun_S0_12_everyRecordIsAccountedFor(t *testing.T) {
	t.Parallel()
	for name, c := range scenarios() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := play(t, system(t, c.pipeline, c.policy), c.text)
			sum := r.Delivered + r.DeadLettered + r.Superseded + r.Unfinished
			expect.That(t, r.Records != 0 && sum == r.Records, "%v records, %v accounted for", r.Records, sum)
			expect.That(t, r.DrainTime != nil && !slices.ContainsFunc(r.Recovery, func(o Recovery) bool { return o.Took == nil }), "drain %v, recovery %+v", r.DrainTime, r.Recovery)
		})
	}
}

func TestRun_theSameSeedGivesTheSameReport(t *testing.T) {
	t.Parallel()
	sys := system(t, guarded)
	text := "rate: 100\nduration: 2m\nseed: 9\nproviders: [{name: place, errors: {share: 0.01}, outages: [{from: 30s, for: 20s}]}]"
	expect.That(t, reflect.DeepEqual(play(t, sys, text), play(t, sys, text)), "two runs differ")
}

func TestRun_stopsWithItsContext(t *testing.T) {
	t.Parallel()
	sys := system(t, place)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Run(ctx, sys, Default(sys, 100, time.Hour))
	expect.That(t, errors.Is(err, context.Canceled), "it went on: %v", err)
}

// Excessive values are refused at once, or as soon as their effect shows, and the message suggests what to change.
func TestRun_S0_12_whatIsTooLargeIsRefused(t *testing.T) {
	t.Parallel()
	sys := system(t, place)
	s := must.Get(ParseScenario("s.yaml", []byte("rate: 1000000\nduration: 24h"), sys))(t)
	_, err := Run(t.Context(), sys, s)
	tooMuch := new(TooMuchError)
	expect.That(t, errors.As(err, &tooMuch) && strings.Contains(err.Error(), "8.64e+10 are to come; lower duration, or simulate one instance"), "%v", err)
}

// A run stops when its budget is used up, and reports how far it came: an outage outlasts everything, and the breakers
// of a fleet probe all the time.
func TestRun_stopsWithItsBudget(t *testing.T) {
	t.Parallel()
	sys := system(t, guarded)
	s := must.Get(ParseScenario("s.yaml", []byte("rate: 20\nduration: 10m\ninstances: 200\nproviders: [{name: place, outages: [{from: 0s, for: 48h}]}]"), sys))(t)
	x := newSimulation(newWorld(sys, s))
	_, err := x.run(t.Context(), 10_000)
	tooMuch := new(TooMuchError)
	expect.That(t, errors.As(err, &tooMuch) && strings.Contains(err.Error(), "10000 events and attempts have been simulated") && x.work <= 11_000, "%d pieces of work, %v", x.work, err)
}

// If points are merged, the result has the maximum of the waiting records, the mean of the requests and the sum of the
// dead letters.
func TestRecorder_halveKeepsWhatAPointSays(t *testing.T) {
	t.Parallel()
	r := &recorder{slot: time.Second}
	for i := range 4 {
		n := float64(i)
		r.out.Series = append(r.out.Series, Point{At: Seconds(n), Waiting: []float64{n}, Requests: []float64{n}, Lag: 10 - n, Dead: 1})
	}
	r.halve()
	must.That(t, len(r.out.Series) == 2 && r.slot == 2*time.Second, "%d points of %v", len(r.out.Series), r.slot)
	p := r.out.Series[1]
	expect.That(t, p.At == 2 && p.Waiting[0] == 3 && p.Requests[0] == 2.5 && p.Lag == 8 && p.Dead == 2, "%+v", p)
}

func TestDelays_quantiles(t *testing.T) {
	t.Parallel()
	d := delays{}
	for n := range 100 {
		d.add(time.Duration(n) * time.Second)
	}
	for share, want := range map[float64]time.Duration{0: 0, 0.5: 49 * time.Second, 0.99: 98 * time.Second, 1: 99 * time.Second} {
		expect.Equal(t, d.quantile(share), want, share)
	}
	expect.Equal(t, (delays{}).quantile(1), 0, "late, of nothing")
}

// An outage without a breaker fails most attempts: the gate pauses the pipeline, and the report has the number of
// records that wait meanwhile. The pipeline is only resumed if the scenario contains it.
func TestGate_S1_8_holdsAndSaysWhatWaits(t *testing.T) {
	t.Parallel()
	text := "rate: 50\nduration: 15m\nproviders: [{name: place, outages: [{from: 3m, for: 5m}]}]\n"
	r := play(t, system(t, gated), text)
	must.That(t, len(r.Pauses) == 1 && r.Pauses[0].Code == "transient_rate" && !r.Pauses[0].Resumed && r.DrainTime == nil, "%+v, drain %v", r.Pauses, r.DrainTime)
	h := r.Pauses[0]
	waits := h.InSource + h.InTiers
	expect.That(t, waits >= r.Unfinished*0.99 && h.InSource >= 50*float64(h.For)*0.8 && h.For+h.At >= 899, "%+v, %v unfinished", h, r.Unfinished)
	again := play(t, system(t, gated), text+"resume_after: 5m\n")
	expect.That(t, len(again.Pauses) == 1 && again.Pauses[0].Resumed && again.PausedTime >= 299 && again.PausedTime <= 301 && again.DrainTime != nil && again.Unfinished == 0,
		"%+v, paused for %v, unfinished %v", again.Pauses, again.PausedTime, again.Unfinished)
}

// The price of order only shows with keys: in strict order, records wait behind a failed record of their key.
func TestOrder_S3_1_waitsBehindTheFailedOne(t *testing.T) {
	t.Parallel()
	text := "rate: 100\nduration: 2m\nproviders: [{name: place, errors: {share: 0.1}}]\n"
	ordered := func(mode string) System { return system(t, place+"\nordering: {mode: "+mode+"}\n") }
	free := play(t, ordered("strict"), text)
	expect.That(t, free.Behind == 0 && len(free.NotModelled) == 1 && strings.Contains(free.NotModelled[0], "keys"), "without keys: %v behind, %q", free.Behind, free.NotModelled)
	strict := play(t, ordered("strict"), text+"keys: 200\n")
	expect.That(t, strict.Behind >= 500 && len(strict.NotModelled) == 0 && strict.Delivered+strict.DeadLettered == strict.Records && strict.Superseded == 0,
		"strict: %v behind, %q, %+v", strict.Behind, strict.NotModelled, strict.Delivered)
	latest := play(t, ordered("latest_wins"), text+"keys: 200\n")
	expect.That(t, latest.Behind == 0 && latest.Superseded >= 100 && latest.Delivered+latest.DeadLettered+latest.Superseded == latest.Records,
		"latest_wins: %v behind, %v superseded of %v", latest.Behind, latest.Superseded, latest.Records)
}
