package simulate

import (
	"slices"
	"time"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/gates"
	"github.com/switchback-geo/switchback/internal/keyorder"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// System is what is simulated: the rules of a pipeline, which are the engine's own, and the limits of its remote steps.
type System struct {
	Pipeline    string
	Tiers       []policy.Tier
	Concurrency int // concurrent attempts in one instance
	Steps       []Step
	Ordering    keyorder.Rules

	// Decide is the engine's decision after a failed attempt.
	Decide func(tried policy.Tried, f classify.Failure, now time.Time, uniform func() float64) policy.Decision
	// Remembers means that decisions depend on the previous wait of the record.
	Remembers bool
	// Wake returns when a record that was put into a tier surfaces.
	Wake func(tier int, due, taken time.Time) time.Time
	// Classify is the pipeline's classifier.
	Classify func(error) classify.Failure
	// RetryAfterLimit is the longest pause that a provider may ask for.
	RetryAfterLimit time.Duration
	// Tolerance is what the gates count, and Holds says which failures hold the pipeline alone, given
	// the reason of Decide.
	Tolerance gates.Limits
	Holds     func(classify.Failure, policy.Reason) bool
}

// Step is one remote step: its providers, in the order in which they are asked.
type Step struct {
	Name     string
	Services []Service
}

// Service is one provider of a step with its configuration.
type Service struct {
	Name        string // the step's, or step/provider if it has several
	Timeout     time.Duration
	Connections int             // concurrent requests in one instance
	Rate        *config.Rate    // of one instance; nil if it has none
	Cached      bool            // whether answers are kept
	Breaker     *config.Breaker // nil if it has none
	Pauses      bool            // whether a Retry-After holds every further request
}

// NewSystem takes the rules from the configuration of a pipeline and of its engine.
func NewSystem(cfg *config.Config, engine retrytopics.Config) System {
	policies := policy.Policies{Default: engine.Retries.Policy, ByCategory: engine.Retries.ByCategory}
	tolerated := cfg.Pipeline.Tolerance
	s := System{
		Pipeline: cfg.Pipeline.ID, Tiers: engine.Retries.Tiers, Concurrency: cfg.Engine.Concurrency, Classify: engine.Retries.Classify,
		Decide: func(tried policy.Tried, f classify.Failure, now time.Time, uniform func() float64) policy.Decision {
			return policy.Decide(policies, engine.Retries.Tiers, tried, f, now, uniform)
		},
		Remembers: slices.ContainsFunc(classify.Categories(), func(c classify.Category) bool {
			return policies.For(c).Strategy == policy.StrategyDecorrelatedJitter
		}),
		Wake: func(tier int, due, taken time.Time) time.Time {
			return policy.Wake(policies, engine.Retries.Tiers[tier], due, taken)
		},
		RetryAfterLimit: cfg.Pipeline.RetryPolicy.RetryAfterLimit.Std(),
		Ordering:        keyorder.Rules{Mode: keyorder.Mode(cfg.Ordering.Mode), HoldKey: cfg.Ordering.OnDeadLetter == config.OnDeadLetterHoldKey},
		Tolerance: gates.Limits{
			MaxNullRate: 1, MaxTransientRate: tolerated.MaxTransientRate, MaxDeadLetterRate: tolerated.MaxDeadLetterRate,
			Window: tolerated.Window.Std(), MinRecords: tolerated.MinRecords,
		},
		Holds: tolerated.Holds,
	}
	for _, step := range cfg.Enrich {
		s.Steps = append(s.Steps, newStep(step))
	}
	return s
}

func newStep(step config.EnrichStep) Step {
	made := Step{Name: step.Name}
	lookups := step.Lookups()
	for _, p := range lookups {
		service := Service{Name: step.Name}
		if len(lookups) > 1 {
			service.Name = step.Name + "/" + p.Name
		}
		b := p.Bounds()
		service.Timeout, service.Connections, service.Rate, service.Cached, service.Breaker = b.Timeout.Std(), b.MaxConnections, b.Rate, b.Cache != nil, b.Breaker
		service.Pauses = p.HTTP != nil && p.HTTP.RetryAfter == config.RetryAfterService
		made.Services = append(made.Services, service)
	}
	return made
}

// services lists the providers, in order.
func (s System) services() []Service {
	var out []Service
	for _, step := range s.Steps {
		out = append(out, step.Services...)
	}
	return out
}

// serviceNames lists the names that a scenario may use, except the handler.
func (s System) serviceNames() []string {
	var names []string
	for _, service := range s.services() {
		names = append(names, service.Name)
	}
	return names
}
