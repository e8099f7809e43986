package consumer

import (
	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/simulate"
	"github.com/switchback-geo/switchback/pkg/classify"
)

// Simulation gives what a simulation needs to know of a pipeline: the rules that its consumer runs with.
func Simulation(cfg *config.Config) simulate.System {
	policy := cfg.Pipeline.RetryPolicy
	engine := retries(cfg)
	engine.Retries.Classify = classify.New(policy.Classification()).Of
	return simulate.NewSystem(cfg, engine)
}
