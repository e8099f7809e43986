package config

import (
	"fmt"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

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
		classify.CategoryNetwork: with(func(p *policy.Policy) { p.Strategy, p.Spread = policy.StrategyExponential, -1 }),
		classify.CategoryServer:  with(func(p *policy.Policy) { p.Jitter = 4 * time.Second }),
		classify.CategoryDatabase: with(func(p *policy.Policy) {
			p.Strategy, p.BaseDelay = policy.StrategyProportionalJitter, 5*time.Second
		}),
		classify.CategoryIO: with(func(p *policy.Policy) { p.MaxAttempts = 2 }),
	} {
		if got := policies.For(category); got != want {
			t.Errorf("%s:\n got  %+v\n want %+v", category, got, want)
		}
	}
}

// TestParse_S1_3 proves that a build server gets at most three attempts, whatever policy and preset say.
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
		attempts, most                   int
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
		t.Run(fmt.Sprintf("CI=%s, %d attempts, cap %d", c.ci, c.attempts, c.most), func(t *testing.T) {
			cfg := must.Get(Parse("p.yaml", fmt.Appendf(nil, file, c.attempts, c.most), func(name string) string {
				return map[string]string{"CI": c.ci}[name]
			}))(t)
			policies := cfg.Pipeline.RetryPolicy.Engine()
			got := []int{cfg.Pipeline.RetryPolicy.MaxAttempts}
			for _, category := range []classify.Category{classify.CategoryNetwork, classify.CategoryTimeout, classify.CategoryDatabase} {
				got = append(got, policies.For(category).MaxAttempts)
			}
			if want := []int{c.base, c.network, c.timeout, c.database}; fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("attempts %v, want %v", got, want)
			}
			if _, capped := cfg.CappedByCI(); capped != c.capped {
				t.Errorf("capped is %v", capped)
			}
			production := cfg.Uncapped().Pipeline.RetryPolicy
			if n := production.Engine().For(classify.CategoryNetwork).MaxAttempts; production.MaxAttempts != c.attempts || n != 7 {
				t.Errorf("uncapped, there are %d attempts, and %d of network", production.MaxAttempts, n)
			}
		})
	}
}

// S1-6: what the pipeline can wait by itself is what a Retry-After limit is held to, not a figure that no strategy uses.
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
		if got := p.longestDelay(); got != want {
			t.Errorf("%s: the longest delay is %v, want %v", text, got, want)
		}
		if limit := p.RetryAfterLimit.Std(); limit != max(time.Hour, want) {
			t.Errorf("%s: the limit defaults to %v", text, limit)
		}
	}
}
