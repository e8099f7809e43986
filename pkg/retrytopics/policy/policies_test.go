package policy

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/pkg/classify"
)

func failing(c classify.Category) classify.Failure {
	return classify.Failure{Class: classify.RetryBackoff, Level: classify.LevelTransient, Category: c}
}

// TestDecide_S3_3 proves that the category of the failure chooses attempts, delay and tier.
func TestDecide_S3_3_the_category_chooses(t *testing.T) {
	t.Parallel()
	policies := Policies{
		Default: Policy{Jitter: -1},
		ByCategory: map[classify.Category]Policy{
			classify.CategoryTimeout:   {MaxAttempts: 4, Strategy: StrategyFixed, BaseDelay: 5 * time.Second},
			classify.CategoryNetwork:   {Strategy: StrategyExponential, BaseDelay: 10 * time.Second, Multiplier: 3},
			classify.CategoryRateLimit: {MaxAttempts: 9},
			classify.CategoryMemory:    {MaxAttempts: 3},
		},
	}
	for _, c := range []struct {
		name    string
		failure classify.Failure
		attempt int
		after   time.Duration // 0: dead-lettered
		tier    int
	}{
		{"no policy of its own", failing(classify.CategoryServer), 1, 2 * time.Second, 0},
		{"no policy of its own, last attempt", failing(classify.CategoryServer), 5, 0, 0},
		{"no category at all", failing(""), 2, 8 * time.Second, 1},
		{"timeout waits in the shortest tier that is long enough", failing(classify.CategoryTimeout), 1, 5 * time.Second, 1},
		{"timeout has fewer attempts", failing(classify.CategoryTimeout), 4, 0, 0},
		{"network inherits the cap", failing(classify.CategoryNetwork), 3, time.Minute, 2},
		{"network inherits the attempts", failing(classify.CategoryNetwork), 5, 0, 0},
		{"rate limit has more attempts and inherits the strategy", failing(classify.CategoryRateLimit), 8, time.Minute, 2},
		{"io is tried again once", failing(classify.CategoryIO), 1, 2 * time.Second, 0},
		{"io is then blocked", failing(classify.CategoryIO), 2, 0, 0},
		{"S4-3 memory as often as the file says", failing(classify.CategoryMemory), 2, 8 * time.Second, 1},
		{"S4-3 memory, last attempt", failing(classify.CategoryMemory), 3, 0, 0},
		{"attempts count over categories", failing(classify.CategoryTimeout), 6, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := Decide(policies, defaultTiers, Tried{Attempts: c.attempt}, c.failure, noon, half)
			want := Decision{Outcome: OutcomeRetried, Reason: ReasonTransient, Tier: c.tier, Due: noon.Add(c.after)}
			if c.after == 0 {
				want = Decision{Outcome: OutcomeDeadLettered, Reason: ReasonExhausted}
			}
			expect.That(t, d == want, "got  %+v\nwant %+v", d, want)
		})
	}
}

// A delay that the other side asked for applies with every strategy, and records that failed together are still
// spread a little.
func TestDecide_S1_6_retryAfter_in_every_strategy(t *testing.T) {
	t.Parallel()
	for _, s := range Strategies() {
		f := failing(classify.CategoryRateLimit)
		f.RetryAfter = 30 * time.Second
		d := Decide(Policies{Default: Policy{Strategy: s}}, defaultTiers, Tried{Attempts: 1}, f, noon, half)
		want := noon.Add(30500 * time.Millisecond)
		expect.That(t, d.Due.Equal(want) && d.Tier == 2 && d.Reason == ReasonRetryAfter, "%s: %+v, want %v", s, d, want)
	}
}

func TestPolicies_Faults(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		policies Policies
		want     string
	}{
		"good": {Policies{ByCategory: map[classify.Category]Policy{classify.CategoryIO: {Spread: -1}}}, ""},
		"S3-6 retrying validation failures": {Policies{ByCategory: map[classify.Category]Policy{classify.CategoryValidation: {}}},
			"policy of category validation: its failures are never retried"},
		"no such category":      {Policies{ByCategory: map[classify.Category]Policy{"weather": {}}}, "policy of category weather: its failures"},
		"cap below the base":    {Policies{ByCategory: map[classify.Category]Policy{classify.CategoryIO: {MaxDelay: time.Second}}}, "policy of category io: MaxDelay 1s is less than BaseDelay 2s"},
		"a spread beyond all":   {Policies{Default: Policy{Spread: 1.5}}, "Spread is 1.5"},
		"no such strategy":      {Policies{Default: Policy{Strategy: "linear"}}, `Strategy "linear" is none of`},
		"S3-6 infinite retries": {Policies{Default: Policy{MaxAttempts: -1}}, "MaxAttempts is -1"},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.policies.Faults()
			expect.That(t, (c.want != "" || err == nil) && (c.want == "" || err != nil && strings.Contains(err.Error(), c.want)), "got %v, want %q", err, c.want)
		})
	}
}

func TestPolicies_S4_4_strategies_are_closed(t *testing.T) {
	t.Parallel()
	for _, s := range Strategies() {
		expect.Do(t, (Policies{Default: Policy{Strategy: s}}).Faults(), s)
		p := Policies{Default: Policy{Strategy: s, BaseDelay: 3 * time.Second, MaxDelay: 100 * time.Second}}.For("")
		least, most := p.Bounds(2, defaultTiers)
		expect.That(t, (s == StrategyFullJitter || least != 0) && most > least, "%s: %v to %v", s, least, most)
	}
}

// TestPresets_S2_10 compares the figures of the presets with docs/errors.md.
func TestPresets_S2_10(t *testing.T) {
	t.Parallel()
	figures := map[Preset]string{}
	for _, p := range Presets() {
		complete := Policies{Default: p.Policy()}.For("")
		expect.Do(t, (Policies{Default: p.Policy()}).Faults(), p)
		var waits []string
		for attempt := 1; attempt < complete.MaxAttempts; attempt++ {
			least, most := complete.Bounds(attempt, defaultTiers)
			waits = append(waits, least.String()+"–"+most.String())
		}
		figures[p] = strings.Join(waits, " ")
	}
	want := map[Preset]string{
		PresetWFS:      "2s–3s 4s–5s 8s–9s 16s–17s 32s–33s 1m4s–1m5s",
		PresetTiles:    "0s–500ms 0s–1s 0s–2s 0s–4s",
		PresetSTAC:     "500ms–1s 1s–2s 2s–4s",
		PresetPostGIS:  "3.75s–6.25s 7.5s–12.5s 15s–25s 30s–50s 45s–1m15s",
		PresetRegistry: "2s–3s 4s–5s 8s–9s 16s–17s",
	}
	for _, p := range slices.Concat(Presets()) {
		expect.That(t, figures[p] == want[p], "%s:\n got  %s\n want %s", p, figures[p], want[p])
	}
	expect.Equal(t, Preset("none").Policy(), (Policy{}), "a preset that does")
}
