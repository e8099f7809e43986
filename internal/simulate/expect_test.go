package simulate

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

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
			if len(r.Expectations) != 1 || r.Expectations[0].Expectation != key || r.Expectations[0].OK != want || (len(r.Broken()) == 0) != want {
				t.Errorf("%s at most %s: %+v", key, limits[i], r.Expectations)
			}
		}
	}
}

// How long gates hold the pipeline can be expected, too.
func TestExpect_S1_8_heldTime(t *testing.T) {
	t.Parallel()
	text := "rate: 50\nduration: 12m\nresume_after: 10m\nproviders: [{name: place, outages: [{from: 2m, for: 5m}]}]\nexpect: { max_held_time: %s }"
	for limit, ok := range map[string]bool{"1h": true, "0s": false} {
		r := play(t, system(t, gated), fmt.Sprintf(text, limit))
		if len(r.Expectations) != 1 || r.Expectations[0].OK != ok || !ok && !strings.Contains(r.Expectations[0].Why, "max_transient_rate") {
			t.Errorf("at most %s: %+v", limit, r.Expectations)
		}
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
	if r.DrainTime != nil || r.Unfinished == 0 || len(r.Broken()) != 1 || r.Broken()[0].Actual != nil {
		t.Errorf("drain %v, unfinished %v, %+v", r.DrainTime, r.Unfinished, r.Expectations)
	}
	if text, err := json.Marshal(r); err != nil || !strings.Contains(string(text), `"drain_seconds":null`) {
		t.Errorf("%v", err)
	}
}

// An outage is not a data error: behind a breaker it kills nothing and spends no attempt beyond those that opened it.
func TestSimulate_S4_5_anOutageBehindABreakerKillsNothing(t *testing.T) {
	t.Parallel()
	text := "rate: 100\nduration: 10m\nproviders: [{name: place, outages: [{from: 2m, for: 5m}]}]"
	open, held := play(t, system(t, place), text), play(t, system(t, guarded), text)
	if open.DeadLettered < 1000 || held.DeadLettered != 0 || held.Retries > 9 {
		t.Errorf("%v dead without a breaker, %v with one, %v retries", open.DeadLettered, held.DeadLettered, held.Retries)
	}
}

// Retry-After is obeyed: a limited provider is not asked again before it said.
func TestTimeline_S1_6_followsRetryAfter(t *testing.T) {
	t.Parallel()
	r := play(t, system(t, place), "rate: 1\nduration: 1s\nproviders: [{name: place, rate_limit: {per_second: 1, retry_after: 30s}}]")
	if len(r.Timelines) != 1 || len(r.Timelines[0].Waits) != 4 {
		t.Fatalf("%+v", r.Timelines)
	}
	for _, w := range r.Timelines[0].Waits {
		if w.Least != 30 || w.Most < 30.9 || w.Topic != "parcels.retry-60s" {
			t.Errorf("%+v", w)
		}
	}
}
