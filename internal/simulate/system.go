package simulate

import (
	"slices"
	"time"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// System is what is simulated: the rules of a pipeline, which are the engine's own, and the limits of its remote steps.
type System struct {
	Pipeline    string
	Tiers       []retrytopics.Tier
	Concurrency int // attempts side by side in one instance
	Steps       []Step

	// Decide is the engine's decision after a failed attempt.
	Decide func(tried retrytopics.Tried, f classify.Failure, now time.Time, uniform func() float64) retrytopics.Decision
	// Remembers says that decisions depend on how long the record was to wait before.
	Remembers bool
	// Wake is when a record surfaces that was put into a tier.
	Wake func(tier int, due, taken time.Time) time.Time
	// Classify is the pipeline's classifier.
	Classify func(error) classify.Failure
}

// Step is one remote step and what it allows.
type Step struct {
	Name        string
	Timeout     time.Duration
	Connections int             // requests side by side in one instance
	Breaker     *config.Breaker // nil when it has none
}

// NewSystem takes the rules from the configuration of a pipeline and from that of the engine made of it.
func NewSystem(cfg *config.Config, engine retrytopics.Config) System {
	policies := retrytopics.Policies{Default: engine.Policy, ByCategory: engine.Policies}
	s := System{
		Pipeline: cfg.Pipeline.ID, Tiers: engine.Tiers, Concurrency: cfg.Engine.Concurrency, Classify: engine.Classify,
		Decide: func(tried retrytopics.Tried, f classify.Failure, now time.Time, uniform func() float64) retrytopics.Decision {
			return retrytopics.Decide(policies, engine.Tiers, tried, f, now, uniform)
		},
		Remembers: slices.ContainsFunc(classify.Categories(), func(c classify.Category) bool {
			return policies.For(c).Strategy == retrytopics.StrategyDecorrelatedJitter
		}),
		Wake: func(tier int, due, taken time.Time) time.Time {
			return retrytopics.Wake(policies, engine.Tiers[tier], due, taken)
		},
	}
	for _, step := range cfg.Enrich {
		timeout, connections, breaker := step.Lookups()[0].Bounds() // fallbacks are not played: what they save is not planned on
		s.Steps = append(s.Steps, Step{step.Name, timeout.Std(), connections, breaker})
	}
	return s
}

func (s System) stepNames() []string {
	var names []string
	for _, step := range s.Steps {
		names = append(names, step.Name)
	}
	return names
}

// dependencies names what an attempt needs: the remote steps, or the handler when there are none.
func (s System) dependencies() []string {
	if len(s.Steps) == 0 {
		return []string{Handler}
	}
	return s.stepNames()
}
