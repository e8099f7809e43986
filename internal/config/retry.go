package config

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// RetryPolicy sets which failures are retried, how often and after what delay (S0-2, S0-3, S1-1, S2-1).
type RetryPolicy struct {
	// MaxAttempts is the number of attempts before a record goes to the DLQ, including the first. Mandatory.
	MaxAttempts int `example:"5" jsonschema:"required,minimum=1,maximum=1000" yaml:"max_attempts"`
	// BaseDelaySeconds is the delay after the first failed attempt, and also the first tier. Mandatory.
	BaseDelaySeconds float64 `example:"2.0" jsonschema:"required,exclusiveMinimum=0,maximum=604800" yaml:"base_delay_seconds"`
	// RetryableStatusCodes lists the HTTP statuses of transient failures. Mandatory.
	RetryableStatusCodes []int `example:"[429, 502, 503, 504]" jsonschema:"required,minimum=100,maximum=599,uniqueItems=true" yaml:"retryable_status_codes"`
	// MaxDelaySeconds is the longest delay between two attempts. Defaults to 60, or to the last of tiers if that is longer.
	MaxDelaySeconds float64 `jsonschema:"exclusiveMinimum=0,maximum=604800,default=60" yaml:"max_delay_seconds"`
	// Multiplier is the factor from one delay to the next; every strategy but tiers, fixed and decorrelated_jitter uses it. Defaults to 2.0.
	Multiplier float64 `jsonschema:"minimum=1,maximum=100,default=2" yaml:"multiplier"`
	// Strategy selects how the delay after the n-th failure is computed. tiers takes the n-th tier. Every other strategy computes a delay and takes the shortest tier that is at least as long. Let step = min(max_delay_seconds, base_delay_seconds * multiplier^(n-1)). fixed is base_delay_seconds. exponential is step. equal_jitter is between step/2 and step. full_jitter is between 0 and step. proportional_jitter is between step*(1-spread) and step*(1+spread). decorrelated_jitter is between base_delay_seconds and three times the previous delay. Defaults to tiers.
	Strategy policy.Strategy `jsonschema:"enum=tiers,enum=fixed,enum=exponential,enum=equal_jitter,enum=full_jitter,enum=decorrelated_jitter,enum=proportional_jitter,default=tiers" yaml:"strategy"`
	// Jitter adds a random time to each delay, so that records that failed together are not retried together. Defaults to true.
	Jitter bool `jsonschema:"default=true" yaml:"jitter"`
	// JitterSeconds is the longest time that jitter adds to the delays of tiers, fixed and exponential and to every Retry-After. Jitter never shortens a delay. Defaults to 1.0; with jitter false it is 0.
	JitterSeconds float64 `jsonschema:"minimum=0,maximum=3600,default=1" yaml:"jitter_seconds"`
	// Spread is the share by which proportional_jitter goes below and above the delay, from 0 to 1. Defaults to 0.25.
	Spread float64 `jsonschema:"minimum=0,maximum=1,default=0.25" yaml:"spread"`
	// TerminalStatusCodes lists the HTTP statuses that no retry fixes. Defaults to 400, 401, 403, 404 and 500, without those listed as retryable.
	TerminalStatusCodes []int `jsonschema:"minimum=100,maximum=599,uniqueItems=true,default=400,default=401,default=403,default=404,default=500" yaml:"terminal_status_codes"`
	// Tiers lists the delays of the retry topics, ascending, each in whole milliseconds. Defaults to base_delay_seconds, four times that, and max_delay_seconds, as far as they ascend: 2s, 8s, 60s.
	Tiers []Duration `jsonschema:"minItems=1,maxItems=16" least:"1ms" most:"168h" yaml:"tiers"`
	// RetryAfterLimit is the longest Retry-After that is obeyed; a longer one is shortened to it. It must not be below the longest delay of the policies. Defaults to 1h, or to the longest delay if that is longer.
	RetryAfterLimit Duration `jsonschema:"default=1h" least:"1s" most:"168h" yaml:"retry_after_limit"`
	// CIMaxAttempts limits the attempts of every policy if the environment has CI=true, so that a failing dependency does not delay a build. 0 sets no limit. Defaults to 3.
	CIMaxAttempts int `jsonschema:"minimum=0,maximum=1000,default=3" yaml:"ci_max_attempts"`
	// Rules classify failures in your own way. They are read before the built-in table, and the first rule that matches applies. Defaults to none.
	Rules []classify.Rule `jsonschema:"maxItems=100" yaml:"rules"`
	// Policies override the retry policy for single categories of failures. The categories are network, timeout, server, rate_limit, registry, database, conflict, broker, memory, io and other. Defaults to none.
	Policies map[classify.Category]CategoryPolicy `yaml:"policies"`
}

// BaseDelay returns the delay after the first failed attempt.
func (p RetryPolicy) BaseDelay() time.Duration { return seconds(p.BaseDelaySeconds) }

// MaxDelay returns the longest delay between two attempts.
func (p RetryPolicy) MaxDelay() time.Duration { return seconds(p.MaxDelaySeconds) }

// MaxJitter returns the longest time that jitter adds to a delay, or 0 if jitter is off.
func (p RetryPolicy) MaxJitter() time.Duration {
	if !p.Jitter {
		return 0
	}
	return seconds(p.JitterSeconds)
}

// TierDelays returns the delays of the tiers in ascending order.
func (p RetryPolicy) TierDelays() []time.Duration {
	out := make([]time.Duration, len(p.Tiers))
	for i, d := range p.Tiers {
		out[i] = d.Std()
	}
	return out
}

// defaultTiers returns base, 4 * base and longest. It leaves out delays that do not ascend or exceed longest. With the
// defaults of S1-1 it returns the tiers of the design: 2 s, 8 s, 60 s. The due header has a resolution of milliseconds,
// so defaultTiers rounds up to whole milliseconds.
func defaultTiers(base, longest time.Duration) []Duration {
	var out []Duration
	for _, d := range []time.Duration{base, 4 * base, longest} {
		d = (d + time.Millisecond - 1).Truncate(time.Millisecond)
		ascends := len(out) == 0 || d > out[len(out)-1].Std()
		if ascends && (d <= longest || len(out) == 0) {
			out = append(out, Duration(d))
		}
	}
	return out
}

// fillPolicy derives the values that were not written. isSet reports whether a key was written.
func fillPolicy(p *RetryPolicy, isSet func(key string) bool) {
	if !p.Jitter {
		p.JitterSeconds = 0
	}
	if !isSet("terminal_status_codes") {
		p.TerminalStatusCodes = slices.DeleteFunc(p.TerminalStatusCodes, func(code int) bool {
			return slices.Contains(p.RetryableStatusCodes, code)
		})
	}
	if len(p.Tiers) > 0 && !isSet("max_delay_seconds") {
		p.MaxDelaySeconds = math.Max(p.MaxDelaySeconds, p.Tiers[len(p.Tiers)-1].Std().Seconds())
	}
	if !isSet("tiers") {
		p.Tiers = defaultTiers(p.BaseDelay(), p.MaxDelay())
	}
	if !isSet("retry_after_limit") {
		p.RetryAfterLimit = max(p.RetryAfterLimit, Duration(p.longestDelay()))
	}
}

// longestDelay returns the longest delay that any policy can ask for, without Retry-After.
func (p RetryPolicy) longestDelay() time.Duration {
	policies, last := p.Engine(), time.Duration(0)
	if len(p.Tiers) > 0 {
		last = p.Tiers[len(p.Tiers)-1].Std()
	}
	longest := time.Duration(0)
	for _, category := range classify.RetriedCategories() {
		switch chosen := policies.For(category); chosen.Strategy {
		case policy.StrategyTiers:
			longest = max(longest, last)
		case policy.StrategyFixed:
			longest = max(longest, chosen.BaseDelay)
		default:
			longest = max(longest, chosen.MaxDelay)
		}
	}
	return longest
}

// seconds converts seconds to a Duration and never rounds a positive number to 0. A delay of 0 means that the key was
// not written.
func seconds(s float64) time.Duration {
	d := time.Duration(math.Round(s * float64(time.Second)))
	if d == 0 && s > 0 {
		return 1
	}
	return d
}

// CategoryPolicy overrides the retry policy for one category of failures (S3-3). A key that is not written takes the value
// of preset, or else the value of the retry policy.
type CategoryPolicy struct {
	// Preset selects the values for a kind of provider: wfs, tiles, stac, postgis, registry. Defaults to none.
	Preset policy.Preset `jsonschema:"enum=wfs,enum=tiles,enum=stac,enum=postgis,enum=registry" yaml:"preset,omitempty"`
	// MaxAttempts is the number of attempts before a record goes to the DLQ if its latest failure is of this category. All attempts of the record count. For the categories io and memory it defaults to 2.
	MaxAttempts int `jsonschema:"minimum=1,maximum=1000" yaml:"max_attempts,omitempty"`
	// Strategy selects how the delay is computed.
	Strategy policy.Strategy `jsonschema:"enum=tiers,enum=fixed,enum=exponential,enum=equal_jitter,enum=full_jitter,enum=decorrelated_jitter,enum=proportional_jitter" yaml:"strategy,omitempty"`
	// BaseDelaySeconds is the first delay of the strategy.
	BaseDelaySeconds float64 `jsonschema:"exclusiveMinimum=0,maximum=604800" yaml:"base_delay_seconds,omitempty"`
	// MaxDelaySeconds is the longest delay of the strategy.
	MaxDelaySeconds float64 `jsonschema:"exclusiveMinimum=0,maximum=604800" yaml:"max_delay_seconds,omitempty"`
	// Multiplier is the factor from one delay to the next.
	Multiplier float64 `jsonschema:"minimum=1,maximum=100" yaml:"multiplier,omitempty"`
	// JitterSeconds is the longest time that jitter adds to a delay.
	JitterSeconds *float64 `jsonschema:"minimum=0,maximum=3600" yaml:"jitter_seconds,omitempty"`
	// Spread is the share by which proportional_jitter goes below and above the delay, from 0 to 1.
	Spread *float64 `jsonschema:"minimum=0,maximum=1" yaml:"spread,omitempty"`
}

// engine returns the policy for the retry engine. Values that were not written come from the preset, or are zero.
func (p CategoryPolicy) engine() policy.Policy {
	return policy.Policy{
		MaxAttempts: p.MaxAttempts, Strategy: p.Strategy,
		BaseDelay: seconds(p.BaseDelaySeconds), MaxDelay: seconds(p.MaxDelaySeconds), Multiplier: p.Multiplier,
		Jitter: orNone(p.JitterSeconds, seconds), Spread: orNone(p.Spread, func(s float64) float64 { return s }),
	}.Over(p.Preset.Policy())
}

// orNone returns 0 if the value was not written, and -1 for a written zero. The retry engine reads -1 as none.
func orNone[T ~int64 | ~float64](written *float64, convert func(float64) T) T {
	switch {
	case written == nil:
		return 0
	case *written == 0:
		return -1
	}
	return convert(*written)
}

// Engine returns the policies of all categories for the retry engine.
func (p RetryPolicy) Engine() policy.Policies {
	jitter := p.MaxJitter().Seconds()
	out := policy.Policies{
		Default: policy.Policy{
			MaxAttempts: p.MaxAttempts, Strategy: p.Strategy,
			BaseDelay: p.BaseDelay(), MaxDelay: p.MaxDelay(), Multiplier: p.Multiplier,
			Jitter: orNone(&jitter, seconds), Spread: orNone(&p.Spread, func(s float64) float64 { return s }),
			RetryAfterLimit: p.RetryAfterLimit.Std(),
		},
		ByCategory: map[classify.Category]policy.Policy{},
	}
	for category, own := range p.Policies {
		out.ByCategory[category] = own.engine()
	}
	return out
}

// capAttempts limits the attempts of every policy to most, for build servers (S1-3). It reports whether a policy had
// more.
func (p *RetryPolicy) capAttempts(limit int) bool {
	policies := p.Engine()
	capped := p.MaxAttempts > limit
	for _, category := range slices.Sorted(maps.Keys(p.Policies)) {
		if policies.For(category).MaxAttempts > limit {
			own := p.Policies[category]
			own.MaxAttempts = limit
			p.Policies[category] = own
			capped = true
		}
	}
	p.MaxAttempts = min(p.MaxAttempts, limit)
	return capped
}

// capByCI lowers the attempts and keeps the policy of the file in uncapped.
func (c *Config) capByCI(limit int) {
	written := c.Pipeline.RetryPolicy
	written.Policies = maps.Clone(written.Policies)
	if c.Pipeline.RetryPolicy.capAttempts(limit) {
		c.uncapped = &written
	}
}

// CappedByCI returns the attempt limit for CI, and reports whether CI=true in the environment lowered a policy to it.
func (c Config) CappedByCI() (limit int, capped bool) {
	return c.Pipeline.RetryPolicy.CIMaxAttempts, c.uncapped != nil
}

// Uncapped returns the configuration with the attempts of the file, without the limit for CI. It is for commands that do
// not wait for attempts, such as a simulation of production.
func (c Config) Uncapped() *Config {
	if c.uncapped != nil {
		c.Pipeline.RetryPolicy, c.uncapped = *c.uncapped, nil
	}
	return &c
}

// Classification returns the classification options that the file sets on top of the taxonomy.
func (p RetryPolicy) Classification() classify.Options {
	o := classify.Options{
		RetryableStatus: p.RetryableStatusCodes, TerminalStatus: p.TerminalStatusCodes,
		Rules: p.Rules, Unknown: classify.Permanent, // a person must look at it (S4-2)
	}
	if o.RetryableStatus == nil {
		o.RetryableStatus = []int{} // a written empty list is not the same as an absent list
	}
	return o
}
