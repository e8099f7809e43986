package simulate

import (
	"fmt"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
)

// An outage without a breaker fails most attempts: the gate holds the pipeline, and says what waits meanwhile. Nobody
// resumes it unless the scenario says so.
func TestGate_S1_8_holdsAndSaysWhatWaits(t *testing.T) {
	t.Parallel()
	text := "rate: 50\nduration: 15m\nproviders: [{name: place, outages: [{from: 3m, for: 5m}]}]\n"
	r := play(t, system(t, gated), text)
	must.That(t, len(r.Holds) == 1 && r.Holds[0].Code == "transient_rate" && !r.Holds[0].Resumed && r.DrainTime == nil, "%+v, drain %v", r.Holds, r.DrainTime)
	h := r.Holds[0]
	waits := h.InSource + h.InTiers
	expect.That(t, waits >= r.Unfinished*0.99 && h.InSource >= 50*float64(h.For)*0.8 && h.For+h.At >= 899, "%+v, %v unfinished", h, r.Unfinished)
	again := play(t, system(t, gated), text+"resume_after: 5m\n")
	expect.That(t, len(again.Holds) == 1 && again.Holds[0].Resumed && again.HeldTime >= 299 && again.HeldTime <= 301 && again.DrainTime != nil && again.Unfinished == 0,
		"%+v, held for %v, unfinished %v", again.Holds, again.HeldTime, again.Unfinished)
}

// A code of hold_on holds at the first failure; nothing dies of it.
func TestGate_S0_9_aListedCodeHoldsAtOnce(t *testing.T) {
	t.Parallel()
	cfg := must.Get(config.Parse("p.yaml", []byte(`pipeline:
  id: parcels
  retry_policy: { max_attempts: 5, base_delay_seconds: 2.0, retryable_status_codes: [429, 503] }
  tolerance: { max_null_rate: 1, halt_on_geometry_invalid: false, hold_on: [http_unauthorized] }
`+place), nil))(t)
	sys := system(t, place)
	sys.Holds = cfg.Pipeline.Tolerance.Holds
	r := play(t, sys, "rate: 50\nduration: 2m\nproviders: [{name: place, outages: [{from: 1m, for: 10s, answer: http_401}]}]")
	expect.That(t, len(r.Holds) == 1 && r.Holds[0].Code == "http_unauthorized" && r.Holds[0].At >= 59 && r.Holds[0].At <= 61 && r.DeadLettered <= 0.5,
		"%+v, %v dead", r.Holds, r.DeadLettered)
}

// S3-3: what a rule puts into the category io is tried again once, and then holds; nothing dies of it. The same failure
// without the rule goes through its attempts into the DLQ.
func TestGate_S3_3_ioHoldsAfterItsRetry(t *testing.T) {
	t.Parallel()
	const file = `pipeline:
  id: parcels
  retry_policy: { max_attempts: 5, base_delay_seconds: 2.0, retryable_status_codes: [429, 503], rules: [%s] }
  tolerance: { max_null_rate: 1, halt_on_geometry_invalid: false, max_transient_rate: 1, max_dead_letter_rate: 1 }
`
	played := func(rule string) Report {
		cfg := must.Get(config.Parse("p.yaml", fmt.Appendf(nil, file+place, rule), nil))(t)
		sys := system(t, place)
		sys.Classify, sys.Holds = classify.New(cfg.Pipeline.RetryPolicy.Classification()).Of, cfg.Pipeline.Tolerance.Holds
		return play(t, sys, "rate: 50\nduration: 2m\nproviders: [{name: place, outages: [{from: 1m, for: 30s, answer: http_507}]}]")
	}
	r := played("{status: 507, class: retry_backoff, category: io}")
	expect.That(t, len(r.Holds) == 1 && r.Holds[0].Code == "http_server_error" && r.Holds[0].At >= 61 && r.Holds[0].At <= 66 && r.DeadLettered <= 0 && r.Retries >= 50,
		"%+v, %v dead, %v retries", r.Holds, r.DeadLettered, r.Retries)
	r = played("{status: 507, class: permanent}")
	expect.That(t, len(r.Holds) == 0 && r.DeadLettered >= 1000, "permanent: %+v, %v dead", r.Holds, r.DeadLettered)
}

// While the first provider is down the second answers, so nothing waits and nothing dies.
func TestFallback_S2_6_answersInPlaceOfAnother(t *testing.T) {
	t.Parallel()
	text := "rate: 100\nduration: 10m\nproviders: [{name: place/main, outages: [{from: 2m, for: 5m}]}, {name: place/mirror, latency: 50ms}]"
	r := play(t, system(t, mirrored), text)
	main, mirror := r.Providers[0], r.Providers[1]
	expect.That(t, r.DeadLettered == 0 && r.Retries <= 0.5 && r.PeakLag <= 100 && mirror.Fallbacks >= 29_000 && mirror.Requests <= 31_000 && main.Requests <= 32_000,
		"%v dead, %v retries, lag %v, %+v, %+v", r.DeadLettered, r.Retries, r.PeakLag, main, mirror)
}

// The client's own rate is never exceeded, whatever comes.
func TestRate_S2_2_isKept(t *testing.T) {
	t.Parallel()
	r := play(t, system(t, limited), "rate: 100\nduration: 5m\nproviders: [{name: place}]")
	p := r.Providers[0]
	expect.That(t, p.Peak <= 60+5+6 && r.PeakLag >= 10_000 && r.DeadLettered == 0, "%+v, lag %v, %v dead", p, r.PeakLag, r.DeadLettered)
}

// What is kept in memory is given during an outage, too.
func TestCache_givesAnswersInAnOutage(t *testing.T) {
	t.Parallel()
	text := "rate: 50\nduration: 5m\nproviders: [{name: place, cache_hits: 0.9, outages: [{from: 1m, for: 2m}]}]"
	r := play(t, system(t, remembering), text)
	p := r.Providers[0]
	expect.That(t, p.Cached >= 0.88*r.Records && r.PeakLag <= 0.15*50*120 && r.PeakLag >= 0.05*50*120 && r.DeadLettered == 0, "%+v, lag %v of %v records", p, r.PeakLag, r.Records)
}

// Order has a price that shows with keys only: in strict order what follows a failed record of its key waits behind it.
func TestOrder_S3_1_waitsBehindTheFailedOne(t *testing.T) {
	t.Parallel()
	text := "rate: 100\nduration: 2m\nproviders: [{name: place, errors: {share: 0.1}}]\n"
	ordered := func(mode string) System { return system(t, place+"\nordering: {mode: "+mode+"}\n") }
	free := play(t, ordered("strict"), text)
	expect.That(t, free.Behind == 0 && len(free.NotModelled) == 1 && strings.Contains(free.NotModelled[0], "keys"),
		"without keys: %v behind, %q", free.Behind, free.NotModelled)
	strict := play(t, ordered("strict"), text+"keys: 200\n")
	expect.That(t, strict.Behind >= 500 && len(strict.NotModelled) == 0 && strict.Delivered+strict.DeadLettered == strict.Records && strict.Superseded == 0,
		"strict: %v behind, %q, %+v", strict.Behind, strict.NotModelled, strict.Delivered)
	latest := play(t, ordered("latest_wins"), text+"keys: 200\n")
	expect.That(t, latest.Behind == 0 && latest.Superseded >= 100 && latest.Delivered+latest.DeadLettered+latest.Superseded == latest.Records,
		"latest_wins: %v behind, %v superseded of %v", latest.Behind, latest.Superseded, latest.Records)
}
