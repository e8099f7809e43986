package config

import (
	"maps"
	"slices"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// CategoryPolicy overrides the retry policy for one category of failures (S3-3). A key that is not written has the value
// of preset, or else that of the retry policy.
type CategoryPolicy struct {
	// Preset names the figures of a kind of provider: wfs, tiles, stac, postgis, registry. Defaults to none.
	Preset policy.Preset `jsonschema:"enum=wfs,enum=tiles,enum=stac,enum=postgis,enum=registry" yaml:"preset,omitempty"`
	// MaxAttempts is the number of attempts before a record whose latest failure is of this category goes to the DLQ, counted over all attempts of the record. For the categories io and memory it defaults to 2.
	MaxAttempts int `jsonschema:"minimum=1,maximum=1000" yaml:"max_attempts,omitempty"`
	// Strategy says how the delay comes about.
	Strategy policy.Strategy `jsonschema:"enum=tiers,enum=fixed,enum=exponential,enum=equal_jitter,enum=full_jitter,enum=decorrelated_jitter,enum=proportional_jitter" yaml:"strategy,omitempty"`
	// BaseDelaySeconds is the delay that the strategy begins with.
	BaseDelaySeconds float64 `jsonschema:"exclusiveMinimum=0,maximum=604800" yaml:"base_delay_seconds,omitempty"`
	// MaxDelaySeconds is the longest delay of the strategy.
	MaxDelaySeconds float64 `jsonschema:"exclusiveMinimum=0,maximum=604800" yaml:"max_delay_seconds,omitempty"`
	// Multiplier is the factor from one delay to the next.
	Multiplier float64 `jsonschema:"minimum=1,maximum=100" yaml:"multiplier,omitempty"`
	// JitterSeconds is the longest time that is added to a delay.
	JitterSeconds *float64 `jsonschema:"minimum=0,maximum=3600" yaml:"jitter_seconds,omitempty"`
	// Spread is the share by which proportional_jitter goes below and above the delay, from 0 to 1.
	Spread *float64 `jsonschema:"minimum=0,maximum=1" yaml:"spread,omitempty"`
}

// engine gives the policy as the engine wants it: zero where nothing was written.
func (p CategoryPolicy) engine() policy.Policy {
	return policy.Policy{
		MaxAttempts: p.MaxAttempts, Strategy: p.Strategy,
		BaseDelay: seconds(p.BaseDelaySeconds), MaxDelay: seconds(p.MaxDelaySeconds), Multiplier: p.Multiplier,
		Jitter: orNone(p.JitterSeconds, seconds), Spread: orNone(p.Spread, func(s float64) float64 { return s }),
	}.Over(p.Preset.Policy())
}

// orNone gives 0 for what was not written, and -1 for a zero that was: the engine's word for none.
func orNone[T ~int64 | ~float64](written *float64, convert func(float64) T) T {
	switch {
	case written == nil:
		return 0
	case *written == 0:
		return -1
	}
	return convert(*written)
}

// Engine gives the policies of all categories as the engine decides with them.
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

// capAttempts limits the attempts of every policy, as a build server wants it (S1-3). It reports whether one had more.
func (p *RetryPolicy) capAttempts(most int) bool {
	policies := p.Engine()
	capped := p.MaxAttempts > most
	for _, category := range slices.Sorted(maps.Keys(p.Policies)) {
		if policies.For(category).MaxAttempts > most {
			own := p.Policies[category]
			own.MaxAttempts = most
			p.Policies[category] = own
			capped = true
		}
	}
	p.MaxAttempts = min(p.MaxAttempts, most)
	return capped
}

// capByCI lowers the attempts and remembers the policy as the file has it.
func (c *Config) capByCI(most int) {
	written := c.Pipeline.RetryPolicy
	written.Policies = maps.Clone(written.Policies)
	if c.Pipeline.RetryPolicy.capAttempts(most) {
		c.uncapped = &written
	}
}

// CappedByCI tells whether CI=true in the environment lowered the attempts of a policy to the limit that is given.
func (c Config) CappedByCI() (most int, capped bool) {
	return c.Pipeline.RetryPolicy.CIMaxAttempts, c.uncapped != nil
}

// Uncapped gives the configuration with the attempts that its file has, whatever CI says: for what spends no time on them,
// such as a simulation, which is to show what production does.
func (c Config) Uncapped() *Config {
	if c.uncapped != nil {
		c.Pipeline.RetryPolicy, c.uncapped = *c.uncapped, nil
	}
	return &c
}
