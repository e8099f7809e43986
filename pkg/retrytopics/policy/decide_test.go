package policy

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

var (
	defaultTiers = []Tier{{"f.retry-2s", 2 * time.Second}, {"f.retry-8s", 8 * time.Second}, {"f.retry-60s", time.Minute}}
	noon         = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
)

func half() float64 { return 0.5 }

func transient(after time.Duration) classify.Failure {
	return classify.Failure{Class: classify.RetryBackoff, Level: classify.LevelTransient, RetryAfter: after, Err: errors.New("x")}
}

func TestDecide(t *testing.T) {
	t.Parallel()
	noJitter := Policy{Jitter: -1}
	exponential := Policy{Strategy: StrategyExponential, Jitter: -1}
	for _, c := range []struct {
		name    string
		policy  Policy
		attempt int
		failure classify.Failure
		want    Decision
		after   time.Duration
	}{
		{"C-2 first failure waits in the first tier", noJitter, 1, transient(0), Decision{Outcome: OutcomeRetried, Reason: ReasonTransient, Tier: 0}, 2 * time.Second},
		{"C-2 second failure waits in the second tier", noJitter, 2, transient(0), Decision{Outcome: OutcomeRetried, Reason: ReasonTransient, Tier: 1}, 8 * time.Second},
		{"C-2 more attempts than tiers stay in the last", noJitter, 4, transient(0), Decision{Outcome: OutcomeRetried, Reason: ReasonTransient, Tier: 2}, time.Minute},
		{"S1-1 the fifth attempt is the last", noJitter, 5, transient(0), Decision{Outcome: OutcomeDeadLettered, Reason: ReasonExhausted}, 0},
		{"S1-1 jitter is added", Policy{}, 1, transient(0), Decision{Outcome: OutcomeRetried, Reason: ReasonTransient, Tier: 0}, 2500 * time.Millisecond},
		{"S1-6 Retry-After overrides the delay, in the shortest tier that is long enough", noJitter, 1, transient(5 * time.Second), Decision{Outcome: OutcomeRetried, Reason: ReasonRetryAfter, Tier: 1}, 5 * time.Second},
		{"S1-6 Retry-After shorter than every tier", noJitter, 3, transient(time.Second), Decision{Outcome: OutcomeRetried, Reason: ReasonRetryAfter, Tier: 0}, time.Second},
		{"S1-6 Retry-After beyond the longest tier waits there", noJitter, 1, transient(5 * time.Minute), Decision{Outcome: OutcomeRetried, Reason: ReasonRetryAfter, Tier: 2}, 5 * time.Minute},
		{"S1-6 an absurd Retry-After is cut", noJitter, 1, transient(1000 * time.Hour), Decision{Outcome: OutcomeRetried, Reason: ReasonRetryAfterCapped, Tier: 2}, time.Hour},
		{"S2-1 exponential, first", exponential, 1, transient(0), Decision{Outcome: OutcomeRetried, Reason: ReasonTransient, Tier: 0}, 2 * time.Second},
		{"S2-1 exponential, second", exponential, 2, transient(0), Decision{Outcome: OutcomeRetried, Reason: ReasonTransient, Tier: 1}, 4 * time.Second},
		{"S2-1 exponential, fourth", exponential, 4, transient(0), Decision{Outcome: OutcomeRetried, Reason: ReasonTransient, Tier: 2}, 16 * time.Second},
		{"S2-1 exponential is capped, also when the power overflows", Policy{Strategy: StrategyExponential, Jitter: -1, MaxAttempts: 5000}, 4000, transient(0), Decision{Outcome: OutcomeRetried, Reason: ReasonTransient, Tier: 2}, time.Minute},
		{"C-3 permanent", noJitter, 1, classify.Failure{Class: classify.Permanent, Level: classify.LevelPermanent}, Decision{Outcome: OutcomeDeadLettered, Reason: ReasonPermanent}, 0},
		{"C-3 row", noJitter, 1, classify.Failure{Class: classify.Row, Level: classify.LevelRow}, Decision{Outcome: OutcomeDeadLettered, Reason: ReasonRow}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.after > 0 {
				c.want.Due = noon.Add(c.after)
			}
			got := Decide(Policies{Default: c.policy}, defaultTiers, Tried{Attempts: c.attempt}, c.failure, noon, half)
			expect.That(t, got == c.want, "got  %+v\nwant %+v", got, c.want)
		})
	}
}

func TestSurfaceParksWhatIsNotDue(t *testing.T) {
	t.Parallel()
	_, ok := Surface(defaultTiers, noon, noon)
	expect.That(t, ok, "a record does not run at its due time")
	d, ok := Surface(defaultTiers, noon.Add(3*time.Second), noon)
	want := Decision{Outcome: OutcomeParked, Reason: ReasonNotDue, Tier: 1, Due: noon.Add(3 * time.Second)}
	expect.That(t, !ok && d == want, "got %+v, %v; want %+v", d, ok, want)
}

// The due time is written with milliseconds; rounding it down would let an attempt begin early.
func TestDueTimeIsNeverRoundedDown(t *testing.T) {
	t.Parallel()
	now := noon.Add(123456 * time.Nanosecond)
	d := Decide(Policies{Default: Policy{Jitter: -1}}, defaultTiers, Tried{Attempts: 1}, transient(0), now, half)
	expect.That(t, !d.Due.Before(now.Add(2*time.Second)), "due %v lies before %v", d.Due, now.Add(2*time.Second))
	expect.Equal(t, header.FormatTime(now), "2026-07-01T12:00:00.001Z", "FormatTime gave")
}

const draws = 20000

// notUniform returns why a sample is not uniform in [0, 1), or "". The thresholds are those of an error of 1 in 1000
// each: Kolmogorov-Smirnov 1.95/√n, chi-square with 19 degrees of freedom 43.82, the mean 3.29 standard errors.
func notUniform(sample []float64) string {
	n := float64(len(sample))
	sorted := slices.Sorted(slices.Values(sample))
	if sorted[0] < 0 || sorted[len(sorted)-1] >= 1 {
		return "out of bounds"
	}
	farthest, sum, bins := 0.0, 0.0, [20]float64{}
	for i, u := range sorted {
		farthest = max(farthest, math.Abs(u-float64(i)/n), math.Abs(u-float64(i+1)/n))
		sum += u
		bins[int(u*20)]++
	}
	chi := 0.0
	for _, count := range bins {
		chi += (count - n/20) * (count - n/20) / (n / 20)
	}
	switch {
	case farthest > 1.95/math.Sqrt(n):
		return "Kolmogorov-Smirnov"
	case chi > 43.82:
		return "chi-square"
	case math.Abs(sum/n-0.5) > 3.29/math.Sqrt(12*n):
		return "mean"
	}
	return ""
}

// TestDistribution_S4_4 draws from every strategy and converts each delay to its place in the range that the strategy
// defines; the places must be uniform.
func TestDistribution_S4_4(t *testing.T) {
	t.Parallel()
	const base, ceiling = time.Second, 40 * time.Second
	for _, c := range []struct {
		name        string
		policy      Policy
		attempt     int
		last        time.Duration
		least, most time.Duration
	}{
		{"tiers with jitter", Policy{Strategy: StrategyTiers}, 2, 0, 8 * time.Second, 9 * time.Second},
		{"fixed with jitter", Policy{Strategy: StrategyFixed}, 3, 0, base, 2 * time.Second},
		{"exponential with jitter, S2-1", Policy{Strategy: StrategyExponential, Jitter: 3 * time.Second}, 4, 0, 8 * time.Second, 11 * time.Second},
		{"exponential with jitter at the cap, S2-1", Policy{Strategy: StrategyExponential}, 9, 0, ceiling, ceiling + time.Second},
		{"equal_jitter", Policy{Strategy: StrategyEqualJitter}, 5, 0, 8 * time.Second, 16 * time.Second},
		{"equal_jitter at the cap", Policy{Strategy: StrategyEqualJitter}, 8, 0, 20 * time.Second, ceiling},
		{"full_jitter, S3-2", Policy{Strategy: StrategyFullJitter}, 5, 0, 0, 16 * time.Second},
		{"full_jitter at the cap, S3-2", Policy{Strategy: StrategyFullJitter}, 50, 0, 0, ceiling},
		{"decorrelated_jitter, first", Policy{Strategy: StrategyDecorrelatedJitter}, 1, 0, base, 3 * time.Second},
		{"decorrelated_jitter, after 7 s", Policy{Strategy: StrategyDecorrelatedJitter}, 3, 7 * time.Second, base, 21 * time.Second},
		{"proportional_jitter", Policy{Strategy: StrategyProportionalJitter, Spread: 0.2}, 4, 0, 6400 * time.Millisecond, 9600 * time.Millisecond},
		{"proportional_jitter at the cap", Policy{Strategy: StrategyProportionalJitter}, 7, 0, 30 * time.Second, 50 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.policy.BaseDelay, c.policy.MaxDelay = base, ceiling
			policies, source := Policies{Default: c.policy}, rand.New(rand.NewPCG(4, 4))
			positions := make([]float64, draws)
			for i := range positions {
				d := policies.Delay("", Tried{c.attempt, c.last}, defaultTiers, source.Float64)
				must.That(t, d >= c.least && d < c.most, "%v is not in [%v, %v)", d, c.least, c.most)
				positions[i] = float64(d-c.least) / float64(c.most-c.least)
			}
			expect.Equal(t, notUniform(positions), "", "the delays", c.least, c.most)
		})
	}
}

// Three times the wait before may lie beyond the cap: the share of delays at the cap is what lies beyond.
func TestDistribution_S4_4_decorrelated_jitter_at_the_cap(t *testing.T) {
	t.Parallel()
	policies := Policies{Default: Policy{Strategy: StrategyDecorrelatedJitter, BaseDelay: time.Second, MaxDelay: 10 * time.Second}}
	source, capped := rand.New(rand.NewPCG(4, 5)), 0.0
	for range draws {
		if policies.Delay("", Tried{2, 7 * time.Second}, defaultTiers, source.Float64) == 10*time.Second {
			capped++
		}
	}
	share := 11.0 / 20 // of random(1 s, 21 s) from 10 s on
	deviation := 3.29 * math.Sqrt(share*(1-share)/draws)
	expect.That(t, math.Abs(capped/draws-share) <= deviation, "%v of the delays are at the cap, want %v within %v", capped/draws, share, deviation)
}

// Whatever the policy, no due time lies before the strategy's shortest delay, and the tier covers it or is the last.
func FuzzDecide_S4_4_neverEarly(f *testing.F) {
	f.Add(uint8(0), uint8(1), int64(2e9), int64(60e9), 2.0, int64(0), int64(0), 0.5)
	f.Add(uint8(5), uint8(9), int64(1), int64(1<<62), 3.5, int64(1<<62), int64(5e9), 0.999999)
	f.Fuzz(func(t *testing.T, strategy, attempt uint8, base, ceiling int64, multiplier float64, last, after int64, u float64) {
		policy := Policy{
			MaxAttempts: 1000, Strategy: Strategies()[int(strategy)%len(Strategies())],
			BaseDelay: time.Duration(base), MaxDelay: time.Duration(ceiling), Multiplier: multiplier,
		}
		policies := Policies{ByCategory: map[classify.Category]Policy{classify.CategoryTimeout: policy}}
		if policies.Faults() != nil || !(u >= 0 && u < 1) || ceiling > int64(1<<60) {
			return // not a policy that an engine would accept
		}
		failure := transient(time.Duration(after))
		failure.Category = classify.CategoryTimeout
		tried := Tried{Attempts: int(attempt) + 1, LastDelay: time.Duration(last)}
		d := Decide(policies, defaultTiers, tried, failure, noon, func() float64 { return u })
		wait := d.Due.Sub(noon)
		least, most := policies.For(classify.CategoryTimeout).Bounds(tried.Attempts, defaultTiers)
		if after > 0 {
			least = min(time.Duration(after), time.Hour)
			most = least + time.Second
		}
		expect.That(t, (policy.Strategy == StrategyDecorrelatedJitter || wait >= least && wait <= most+time.Millisecond) && wait >= 0, "%+v: %v is not in [%v, %v]", policy, wait, least, most)
		delay := defaultTiers[d.Tier].Delay
		expect.That(t, delay >= wait-time.Second-time.Millisecond || d.Tier == len(defaultTiers)-1, "a wait of %v in the tier of %v", wait, delay)
	})
}
