package config

import (
	"slices"
	"strconv"
	"strings"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/transform"
)

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
			warn(tolerancePath+"hold_on["+strconv.Itoa(i)+"]", "has no effect: "+why, "remove "+string(code)+", or set what gives it")
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
