package config

import (
	"fmt"

	"github.com/switchback-geo/switchback/pkg/crs"
	"github.com/switchback-geo/switchback/pkg/transform"
)

const (
	floorPath = "pipeline.tolerance.precision_decimal_threshold"
	roundPath = "transform.geometry.round_decimals"
)

// fillPrecision sets the decimals of the output where the file does not: six, or those that the source has to have.
func fillPrecision(c *Config) {
	if c.Transform.Geometry.RoundDecimals == nil {
		decimals := min(15, max(6, c.Pipeline.Tolerance.PrecisionDecimalThreshold)) // what is out of range is a fault of that key
		c.Transform.Geometry.RoundDecimals = &decimals
	}
	if least := c.Pipeline.Tolerance.MinDecimals; least > 0 {
		c.Transform.MinDecimals = &least
	}
}

func precisionWarnings(cfg *Config, warn warner) {
	floor, rounded := cfg.Pipeline.Tolerance.PrecisionDecimalThreshold, *cfg.Transform.Geometry.RoundDecimals
	if floor > 0 {
		floorWarnings(cfg, floor, rounded, warn)
	}
	least := cfg.Pipeline.Tolerance.MinDecimals
	switch {
	case least > 0 && cfg.Transform.Geometry.Coarse == transform.Accept:
		warn("pipeline.tolerance.min_decimals", "has no effect with transform.geometry.coarse: accept", "remove one of them")
	case least > 0:
		warn("pipeline.tolerance.min_decimals", "judges each geometry by itself: of honest points, one in a hundred ends in 0 in both ordinates and is refused",
			fmt.Sprintf("write precision_decimal_threshold: %d, which judges many together, unless a single one must not pass", least))
	}
}

func floorWarnings(cfg *Config, floor, rounded int, warn warner) {
	source, err := crs.Lookup(cfg.Transform.Geometry.SourceCRS)
	target, err2 := crs.Lookup(cfg.Transform.Geometry.TargetCRS)
	switch {
	case !cfg.origins.byHand(roundPath):
		warn(floorPath, fmt.Sprintf("is the floor of the source's coordinates: coarser ones pause the pipeline; it does not round, and the output keeps %d decimals", rounded),
			fmt.Sprintf("write %s: %d to say so; where only rounding is meant, write that key alone", roundPath, rounded))
	case err == nil && err2 == nil && source.Unit() == target.Unit() && rounded < floor:
		warn(roundPath, fmt.Sprintf("rounds the output to fewer decimals than the %d that the source has to have", floor), fmt.Sprintf("write %s: %d, unless it is meant", roundPath, floor))
	case err == nil && source.Unit() != crs.Degree && floor > 4:
		warn(floorPath, fmt.Sprintf("%d decimals of a metre are less than 0.1 mm; the floor counts decimals of the source's unit", floor), "write 2 for centimetres, 3 for millimetres")
	}
	if !cfg.Pipeline.Tolerance.HoldsOn(codePrecision) {
		warn(floorPath, "pauses nothing, since hold_on does not list precision_degraded: what is below the floor becomes dead letters", "add precision_degraded to hold_on, unless it is meant")
	}
}
