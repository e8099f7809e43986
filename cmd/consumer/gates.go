package main

import (
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/gates"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// gatesOff lists the geometry gates that let everything pass.
func gatesOff(cfg *config.Config) []transform.GateOff {
	off := cfg.Transform.GatesOff()
	if cfg.Pipeline.Tolerance.PrecisionDecimalThreshold > 0 { // a floor sets how many decimals pass
		off = slices.DeleteFunc(off, func(g transform.GateOff) bool { return g.Key == "geometry.coarse" })
	}
	return off
}

func keysOf(gates []transform.GateOff) []string {
	var keys []string
	for _, gate := range gates {
		keys = append(keys, gate.Key)
	}
	return keys
}

// precision returns a line about the required precision of coordinates, and the rounding.
func precision(cfg *config.Config) string {
	rounded := fmt.Sprintf("the output is rounded to %s", count(*cfg.Transform.Geometry.RoundDecimals, "decimal"))
	floor := cfg.Pipeline.Tolerance.PrecisionDecimalThreshold
	if floor == 0 {
		return "precision: no floor (pipeline.tolerance.precision_decimal_threshold); it is measured as switchback_coordinate_decimals; " + rounded
	}
	return fmt.Sprintf("precision: the floor is %s, broken when more than %d of the last %d ordinates have fewer; %s",
		count(floor, "decimal"), gates.PrecisionOrdinates/2, gates.PrecisionOrdinates, rounded)
}

// floorOf returns a hook that refuses features below the precision floor, as the pipeline does.
func floorOf(cfg *config.Config) func(*retrytopics.Record, int, *transform.Feature) error {
	judge := gates.New(gates.Limits{Floor: cfg.Pipeline.Tolerance.PrecisionDecimalThreshold})
	var read atomic.Int64
	return func(_ *retrytopics.Record, _ int, source *transform.Feature) error {
		feature, number := source.IDString(), read.Add(1)
		if feature == "" {
			feature = fmt.Sprintf("#%d", number)
		}
		if breach, yes := judge.Precision(time.Time{}, "", gates.SampleOf(feature, source.Geometry.Shape), true); yes {
			return breach.Failure(source.IDString())
		}
		return nil
	}
}
