package config

import (
	"slices"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// Tolerance sets the error thresholds of the pipeline (S0-2, S0-3, S0-9, S1-8, S4-9). Beyond a threshold, all
// instances of the pipeline are paused until a person resumes it. Each instance evaluates only its own counts.
type Tolerance struct {
	// MaxNullRate is the accepted share of missing values, from 0 to 1, for each attribute that is not required. It applies over window, and in each batch (header batch-id). 1 accepts all. Mandatory.
	MaxNullRate float64 `example:"0.005" jsonschema:"required,minimum=0,maximum=1" yaml:"max_null_rate"`
	// HaltOnGeometryInvalid pauses the pipeline at an invalid geometry instead of writing one dead letter. It covers geometries that are refused as invalid, empty, not simple or against RFC 7946. The record stays where it is. Mandatory.
	HaltOnGeometryInvalid bool `example:"false" jsonschema:"required" yaml:"halt_on_geometry_invalid"`
	// MaxTransientRate is the accepted share of records that fail transiently at their first attempt, over window, from 0 to 1. 1 accepts all. Records in flight count as successful. Defaults to 0.4.
	MaxTransientRate float64 `jsonschema:"minimum=0,maximum=1,default=0.4" yaml:"max_transient_rate"`
	// MaxDeadLetterRate is the accepted share of dead letters among finished records, from 0 to 1. It applies over window, and in each batch. 1 accepts all. Records in flight count as successful. Defaults to 0.2.
	MaxDeadLetterRate float64 `jsonschema:"minimum=0,maximum=1,default=0.2" yaml:"max_dead_letter_rate"`
	// Window is the time over which the rates are computed. Defaults to 10m.
	Window Duration `jsonschema:"default=10m" least:"1s" most:"24h" yaml:"window"`
	// MinRecords is the smallest number of records for which a rate is evaluated, including those in flight. Defaults to 100.
	MinRecords int `jsonschema:"minimum=1,maximum=100000000,default=100" yaml:"min_records"`
	// PauseOn lists the failure codes that pause the pipeline at once. The record that fails stays where it is. Two failures pause the pipeline without being listed: a full disk, and a failure of category io after its last attempt. Defaults to precision_degraded and foreign_key_empty.
	PauseOn []classify.Code `jsonschema:"uniqueItems=true,default=precision_degraded,default=foreign_key_empty" yaml:"pause_on"`
	// OnBatch sets the treatment of a batch (header batch-id) that exceeds a tolerance. quarantine sends the remaining records to the DLQ and continues without the batch. pause pauses the pipeline. Defaults to quarantine.
	OnBatch OnBatch `jsonschema:"enum=quarantine,enum=pause,default=quarantine" yaml:"on_batch"`
	// PrecisionDecimalThreshold is the expected number of decimals of the source's coordinates, in the source's unit, from 1 to 15. If more than half of the last 100 ordinates have fewer, features below the threshold fail with precision_degraded. This pauses the pipeline by default. A batch (header batch-id) is also judged by itself. 0 sets no threshold. It does not round: see transform.geometry.round_decimals. Defaults to 0.
	PrecisionDecimalThreshold int `jsonschema:"minimum=0,maximum=15,default=0" yaml:"precision_decimal_threshold"`
	// MinDecimals is the number of decimals that at least one ordinate of each geometry has, from 1 to 15. Use it only if every single geometry must be this precise. A geometry with only coarser ordinates fails the gate transform.geometry.coarse. About one in a hundred correct points is coarser by chance: see precision_decimal_threshold. 0 declares nothing. Defaults to 0.
	MinDecimals int `jsonschema:"minimum=0,maximum=15,default=0" yaml:"min_decimals"`
}

// PausesOn reports whether a failure with this code pauses the pipeline at once.
func (t Tolerance) PausesOn(code classify.Code) bool {
	return slices.Contains(t.PauseOn, code) || t.HaltOnGeometryInvalid && slices.Contains(invalidGeometry(), code)
}

// PausesAtOnce reports whether a single failure pauses the pipeline. This is so if its code is listed, or if the whole
// pipeline cannot continue, for example because a disk is full (S4-1).
func (t Tolerance) PausesAtOnce(f classify.Failure) bool {
	return t.PausesOn(f.Code) || f.Level == classify.LevelPipeline
}

// Pauses reports whether a failed attempt pauses the pipeline. It does so at once, or because no attempts are left and the
// category blocks the pipeline (S3-3). reason is the reason of the engine's decision.
func (t Tolerance) Pauses(f classify.Failure, reason policy.Reason) bool {
	return t.PausesAtOnce(f) || reason == policy.ReasonExhausted && f.Category.Blocks()
}

// invalidGeometry returns the codes that halt_on_geometry_invalid covers: the geometry gates of S0-8.
func invalidGeometry() []classify.Code {
	return []classify.Code{
		classify.CodeGeometryInvalid, classify.CodeGeometryEmpty, classify.CodeGeometryNotSimple, classify.CodeGeometryStructure,
	}
}

// OnBatch is the action for a batch that exceeds a tolerance.
type OnBatch string

// The actions for a batch.
const (
	OnBatchQuarantine OnBatch = "quarantine" // the remaining records go to the DLQ as batch_quarantined
	OnBatchPause      OnBatch = "pause"      // the pipeline is paused
)

// fillPrecision sets the decimals of the output if the file does not: six, or the precision threshold of the source if
// it is larger.
func fillPrecision(c *Config) {
	if c.Transform.Geometry.RoundDecimals == nil {
		decimals := min(15, max(6, c.Pipeline.Tolerance.PrecisionDecimalThreshold)) // a value out of range is reported at its own key
		c.Transform.Geometry.RoundDecimals = &decimals
	}
	if least := c.Pipeline.Tolerance.MinDecimals; least > 0 {
		c.Transform.MinDecimals = &least
	}
}
