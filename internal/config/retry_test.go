package config

import (
	"fmt"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// The file and the engine must mean the same topic.
func TestRetryPolicy_C_2_namesTheTopicsOfTheEngine(t *testing.T) {
	topics := Topics{TierPrefix: "features.retry-"}
	for _, delay := range []time.Duration{
		time.Millisecond, 500 * time.Millisecond, 1500 * time.Millisecond, 2 * time.Second, 8 * time.Second,
		time.Minute, 90 * time.Second, 5 * time.Minute, time.Hour, 90 * time.Minute, 24 * time.Hour,
	} {
		if got, want := topics.Tier(Duration(delay)), policy.TierTopic(topics.TierPrefix, delay); got != want {
			t.Errorf("%v: the file names %s, the engine %s", delay, got, want)
		}
	}
}

// policy parses a file whose retry policy is text.
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
		if got := fmt.Sprint(p.Tiers); got != c.want {
			t.Errorf("base %s, %s: got %s, want %s", c.base, c.more, got, c.want)
		}
	}
}

func TestRetryPolicy_given_tiers(t *testing.T) {
	const mandatory = "max_attempts: 5, retryable_status_codes: [503], "
	p := policyOf(t, mandatory+"base_delay_seconds: 5, tiers: [5s, 10m]")
	if p.MaxDelay() != 10*time.Minute {
		t.Errorf("a longer last tier raises the default cap: got %v", p.MaxDelay())
	}
	p = policyOf(t, mandatory+"base_delay_seconds: 5, tiers: [10s, 20s], strategy: exponential, max_delay_seconds: 15")
	if p.BaseDelay() != 5*time.Second || p.MaxDelay() != 15*time.Second {
		t.Errorf("with strategy exponential the tiers only hold what the delays ask for: got %v, %v", p.BaseDelay(), p.MaxDelay())
	}
}

func TestDuration_text(t *testing.T) {
	for text, want := range map[string]string{
		"0s": "0s", "1ms": "1ms", "500ms": "500ms", "1.5s": "1500ms", "2s": "2s", "60s": "60s", "1m": "60s",
		"90s": "90s", "2m": "2m", "60m": "1h", "1h30m": "90m", "24h": "24h", "1500us": "1.5ms", "-2s": "-2s",
	} {
		var d Duration
		must.Do(t, d.UnmarshalText([]byte(text)))
		out, err := d.MarshalText()
		if err != nil || string(out) != want {
			t.Errorf("%s: got %s, %v; want %s", text, out, err, want)
		}
	}
	var d Duration
	if err := d.UnmarshalText([]byte("2")); err == nil {
		t.Error("a number without a unit is taken")
	}
}
