package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/crs"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// Tolerance sets the error thresholds of the pipeline (S0-2, S0-3, S0-9, S1-8, S4-9). Beyond one the pipeline is held,
// in all its instances and until a person lets it go on. Each instance judges by what it counted itself.
type Tolerance struct {
	// MaxNullRate is the share of missing values that is accepted, per attribute that is not required, from 0 to 1: over window, and in each batch (header batch-id). 1 accepts all. Mandatory.
	MaxNullRate float64 `example:"0.005" jsonschema:"required,minimum=0,maximum=1" yaml:"max_null_rate"`
	// HaltOnGeometryInvalid says whether a geometry that is refused as invalid, empty, not simple or against RFC 7946 holds the pipeline instead of becoming one dead letter. Its record stays where it is. Mandatory.
	HaltOnGeometryInvalid bool `example:"false" jsonschema:"required" yaml:"halt_on_geometry_invalid"`
	// MaxTransientRate is the share of records that may fail transiently at their first attempt, over window, from 0 to 1; 1 accepts all. Records in flight count as good ones. Defaults to 0.4.
	MaxTransientRate float64 `jsonschema:"minimum=0,maximum=1,default=0.4" yaml:"max_transient_rate"`
	// MaxDeadLetterRate is the share of finished records that may be dead letters, from 0 to 1: over window, and in each batch. 1 accepts all. Records in flight count as good ones. Defaults to 0.2.
	MaxDeadLetterRate float64 `jsonschema:"minimum=0,maximum=1,default=0.2" yaml:"max_dead_letter_rate"`
	// Window is the time over which the rates are taken. Defaults to 10m.
	Window Duration `jsonschema:"default=10m" least:"1s" most:"24h" yaml:"window"`
	// MinRecords is from how many records on a rate counts, those in flight included; of fewer, one says nothing. Defaults to 100.
	MinRecords int `jsonschema:"minimum=1,maximum=100000000,default=100" yaml:"min_records"`
	// HoldOn lists the codes of failures that hold the pipeline at once. The record that fails stays where it is. Without being listed, a full disk does so too, and a failure of the category io once its attempts are used up. Defaults to precision_degraded and foreign_key_empty.
	HoldOn []classify.Code `jsonschema:"uniqueItems=true,default=precision_degraded,default=foreign_key_empty" yaml:"hold_on"`
	// OnBatch says what happens to a batch (header batch-id) beyond a tolerance: quarantine sends what is left of it to the DLQ and goes on without it, hold holds the pipeline. Defaults to quarantine.
	OnBatch OnBatch `jsonschema:"enum=quarantine,enum=hold,default=quarantine" yaml:"on_batch"`
	// PrecisionDecimalThreshold is the floor of the source's coordinates: how many decimals they have, in the source's unit, from 1 to 15. When more than half of the last 100 ordinates have fewer, features below the floor fail with precision_degraded, which holds the pipeline by default; a batch (header batch-id) is judged by itself as well. 0 is no floor. It does not round: see transform.geometry.round_decimals. Defaults to 0.
	PrecisionDecimalThreshold int `jsonschema:"minimum=0,maximum=15,default=0" yaml:"precision_decimal_threshold"`
	// MinDecimals is for sources of which not even one geometry may be coarser: how many decimals at least one ordinate of each geometry has, from 1 to 15; 0 declares nothing. A geometry of which every ordinate is coarser meets the gate transform.geometry.coarse. Of honest points one in a hundred is: see precision_decimal_threshold. Defaults to 0.
	MinDecimals int `jsonschema:"minimum=0,maximum=15,default=0" yaml:"min_decimals"`
}

// HoldsOn says whether a failure with this code holds the pipeline at once.
func (t Tolerance) HoldsOn(code classify.Code) bool {
	return slices.Contains(t.HoldOn, code) || t.HaltOnGeometryInvalid && slices.Contains(invalidGeometry(), code)
}

// HoldsAtOnce says whether one failure is enough to hold the pipeline: its code is listed, or nothing can go on, such as when a
// disk is full (S4-1).
func (t Tolerance) HoldsAtOnce(f classify.Failure) bool {
	return t.HoldsOn(f.Code) || f.Level == classify.LevelPipeline
}

// Holds says whether a failed attempt holds the pipeline: at once, or because its attempts are used up and the category blocks
// (S3-3). The reason is that of the engine's decision.
func (t Tolerance) Holds(f classify.Failure, reason policy.Reason) bool {
	return t.HoldsAtOnce(f) || reason == policy.ReasonExhausted && f.Category.Blocks()
}

// invalidGeometry lists the codes that halt_on_geometry_invalid is about: the gates of S0-8 on geometries.
func invalidGeometry() []classify.Code {
	return []classify.Code{
		classify.CodeGeometryInvalid, classify.CodeGeometryEmpty, classify.CodeGeometryNotSimple, classify.CodeGeometryStructure,
	}
}

// OnBatch is what happens to a batch beyond a tolerance.
type OnBatch string

// The choices.
const (
	OnBatchQuarantine OnBatch = "quarantine" // what is left of it goes to the DLQ as batch_quarantined
	OnBatchHold       OnBatch = "hold"       // the pipeline is held
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

const (
	tolerancePath = "pipeline.tolerance."
	codePrecision = classify.CodePrecisionDegraded
)

// warner notes what is worth a second look, at the place of a path.
type warner = func(path, message, fix string)

// toleranceWarnings finds keys of the tolerance that have no effect with the rest of the file.
func toleranceWarnings(cfg *Config, warn warner) {
	t := cfg.Pipeline.Tolerance
	if validity := cfg.Transform.Geometry.Validity; t.HaltOnGeometryInvalid && validity != "" && validity != transform.ValidityReject {
		warn(tolerancePath+"halt_on_geometry_invalid", "holds nothing for a geometry that transform.geometry.validity: "+string(validity)+" lets pass",
			"set transform.geometry.validity: reject, or halt_on_geometry_invalid: false")
	}
	nulls := t.MaxNullRate < 1
	if nulls && !slices.ContainsFunc(cfg.Transform.Fields, func(f transform.Field) bool { return !f.Required }) {
		nulls = false
		warn(tolerancePath+"max_null_rate", "counts nothing: it is about the fields under transform.fields that are not required, and there are none",
			"list the fields whose missing values are to be counted, or write max_null_rate: 1")
	}
	rates := nulls || t.MaxTransientRate < 1 || t.MaxDeadLetterRate < 1
	for _, key := range []string{"window", "min_records"} {
		if cfg.origins.byHand(tolerancePath+key) && !rates {
			warn(tolerancePath+key, "has no effect: every rate is 1 and accepts all", "lower a rate, or remove it")
		}
	}
	if cfg.origins.byHand(tolerancePath+"on_batch") && !nulls && t.MaxDeadLetterRate >= 1 && t.PrecisionDecimalThreshold == 0 {
		warn(tolerancePath+"on_batch", "has no effect: a batch is judged by max_null_rate, max_dead_letter_rate and precision_decimal_threshold, and all of them accept everything",
			"set one of them, or remove it")
	}
	holdOnWarnings(cfg, warn)
	precisionWarnings(cfg, warn)
}

// holdOnWarnings finds listed codes that no failure of this file can have. The default list is nobody's mistake, written out or not.
func holdOnWarnings(cfg *Config, warn warner) {
	if slices.Equal(cfg.Pipeline.Tolerance.HoldOn, []classify.Code{codePrecision, classify.CodeForeignKeyEmpty}) {
		return
	}
	for i, code := range cfg.Pipeline.Tolerance.HoldOn {
		if why := neverGiven(cfg, code); why != "" {
			warn(tolerancePath+entry("hold_on", i), "has no effect: "+why, "remove "+string(code)+", or set what gives it")
		}
	}
}

// neverGiven says why no failure of this file has a code, "" when one may.
func neverGiven(cfg *Config, code classify.Code) string {
	t, geometry := cfg.Pipeline.Tolerance, cfg.Transform.Geometry
	mandatory := func(f transform.Field) bool { return f.References != nil && f.References.Mandatory }
	refers := func(f transform.Field) bool { return f.References != nil }
	switch {
	case code == codePrecision && t.PrecisionDecimalThreshold == 0 && (t.MinDecimals == 0 || geometry.Coarse != transform.Reject):
		return "neither precision_decimal_threshold nor min_decimals is set so that coordinates could be refused"
	case code == classify.CodeForeignKeyEmpty && !slices.ContainsFunc(cfg.Transform.Fields, mandatory):
		return "no field under transform.fields has mandatory references"
	case code == classify.CodeForeignKeyUnresolved && !slices.ContainsFunc(cfg.Transform.Fields, refers):
		return "no field under transform.fields has references"
	case code == classify.CodeGeometryInvalid && geometry.Validity == transform.ValidityFlag && geometry.OutputValidity == transform.OutputFlag:
		return "transform.geometry lets geometries that are not valid pass with a flag"
	case code == classify.CodeGeometryNotSimple && geometry.Simplicity != transform.Reject:
		return "transform.geometry.simplicity refuses nothing"
	case strings.HasPrefix(string(code), "http_") && !asksHTTP(cfg):
		return "no step asks a service by HTTP"
	}
	return ""
}

// asksHTTP says whether records wait for an HTTP service.
func asksHTTP(cfg *Config) bool {
	return cfg.SchemaRegistry.URL != "" || slices.ContainsFunc(cfg.Enrich, func(s EnrichStep) bool {
		return s.HTTP != nil || slices.ContainsFunc(s.Providers, func(p Provider) bool { return p.HTTP != nil })
	})
}
