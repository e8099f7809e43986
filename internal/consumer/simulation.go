package consumer

import (
	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/simulate"
)

// Simulation returns the rules of a pipeline's consumer for a simulation.
func Simulation(cfg *config.Config) simulate.System {
	return simulate.NewSystem(cfg, retries(cfg))
}
