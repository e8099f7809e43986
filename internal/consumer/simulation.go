package consumer

import (
	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/simulate"
	"github.com/switchback-geo/switchback/pkg/classify"
)

// Simulation returns the rules of a pipeline's consumer for a simulation.
func Simulation(cfg *config.Config) simulate.System {
	policy := cfg.Pipeline.RetryPolicy
	engine := retries(cfg)
	engine.Retries.Classify = classify.New(policy.Classification()).Of
	return simulate.NewSystem(cfg, engine)
}
