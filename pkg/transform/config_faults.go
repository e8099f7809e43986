package transform

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/switchback-geo/switchback/pkg/crs"
)

// Fault is one fault of a [Config].
type Fault struct {
	// Path is the place in the YAML of the mapping, such as "fields[2].type".
	Path string

	// Message describes the fault, Fix how to correct it.
	Message, Fix string
}

// String returns the fault in one line.
func (f Fault) String() string { return f.Path + ": " + f.Message + "; " + f.Fix }

// ConfigError lists every fault of a [Config].
type ConfigError struct {
	Faults []Fault
}

// Error returns one line for each fault.
func (e *ConfigError) Error() string {
	lines := make([]string, len(e.Faults))
	for i, fault := range e.Faults {
		lines[i] = fault.String()
	}
	return strings.Join(lines, "\n")
}

// faultList collects faults.
type faultList []Fault

func (l *faultList) add(path, message, fix string) {
	*l = append(*l, Fault{Path: path, Message: message, Fix: fix})
}

// checkWord checks that a word is one of a closed list.
func checkWord[T ~string](faults *faultList, path string, word T, known []T) {
	if slices.Contains(known, word) {
		return
	}
	fix := "write one of " + quoteList(known)
	for _, candidate := range known {
		if strings.EqualFold(string(word), string(candidate)) {
			fix = fmt.Sprintf("write %q", candidate)
		}
	}
	faults.add(path, fmt.Sprintf("%q is not known", word), fix)
}

// checkFlatten checks the flatten part.
func checkFlatten(flatten *Flatten, faults *faultList) {
	if flatten == nil {
		return
	}
	checkWord(faults, "flatten.arrays", flatten.Arrays, ArrayPolicies())
	if flatten.MaxDepth < 0 {
		faults.add("flatten.max_depth", "a depth is not negative", "write how many levels are joined, or leave flatten out")
	}
}

// checkGeometry checks the geometry part.
func checkGeometry(config Config, faults *faultList) {
	rules := config.Geometry
	checkCRSName(faults, "geometry.source_crs", rules.SourceCRS)
	checkCRSName(faults, "geometry.target_crs", rules.TargetCRS)
	checkWord(faults, "geometry.declared_crs", rules.DeclaredCRS, DeclaredCRSs())
	checkWord(faults, "geometry.validity", rules.Validity, Validities())
	checkWord(faults, "geometry.output_validity", rules.OutputValidity, OutputValidities())
	checkWord(faults, "geometry.gates", rules.Gates, GateSets())
	if change := rules.MaxAreaChange; change != nil && !(*change >= 0 && *change <= 1) {
		faults.add("geometry.max_area_change", "a change is a share of the larger area", "write a number from 0 to 1, such as 0.01")
	}
	checkWord(faults, "geometry.simplicity", rules.Simplicity, Acceptances())
	checkWord(faults, "geometry.other_types", rules.OtherTypes, Validities())
	checkWord(faults, "geometry.null_geometry", rules.NullGeometry, Acceptances())
	checkWord(faults, "geometry.empty_geometry", rules.EmptyGeometry, Acceptances())
	checkWord(faults, "geometry.foreign_members", rules.ForeignMembers, Acceptances())
	checkWord(faults, "geometry.antimeridian", rules.Antimeridian, Antimeridians())
	checkWord(faults, "geometry.dimension", rules.Dimension, Dimensions())
	checkWord(faults, "geometry.bbox", rules.BBox, BBoxPolicies())
	checkWord(faults, "geometry.coarse", rules.Coarse, Acceptances())
	for i, kind := range rules.Types {
		checkWord(faults, fmt.Sprintf("geometry.types[%d]", i), kind, GeometryTypes())
	}
	checkGateReach(config, faults)
	checkGrids(rules, faults)
	if !rules.flags() {
		return
	}
	for i, field := range config.Fields {
		if field.To == rules.FlagProperty {
			faults.add("geometry.flag_property", fmt.Sprintf("fields[%d] writes %q too", i, field.To), "name another property")
		}
	}
	if _, taken := config.Constants[rules.FlagProperty]; taken {
		faults.add("geometry.flag_property", fmt.Sprintf("a constant writes %q too", rules.FlagProperty), "name another property")
	}
}

// checkGateReach finds gates that can never apply.
func checkGateReach(config Config, faults *faultList) {
	rules := config.Geometry
	if len(rules.Types) == 0 && rules.OtherTypes != ValidityReject {
		faults.add("geometry.other_types", "every type passes, so there are no other types", "list the types that pass under types, or remove it")
	}
	source, unknownSource := crs.Lookup(rules.SourceCRS)
	target, unknownTarget := crs.Lookup(rules.TargetCRS)
	if unknownSource == nil && unknownTarget == nil && source.Unit() != crs.Degree && target.Unit() != crs.Degree &&
		rules.Antimeridian != AntimeridianIgnore && rules.DeclaredCRS != DeclaredUse {
		faults.add("geometry.antimeridian", "neither the source nor the target is in degrees, so there is no 180th meridian", "remove it")
	}
	if rules.Coarse != Reject && config.MinDecimals == nil {
		faults.add("geometry.coarse", "no decimals are declared, so nothing is too coarse", "set pipeline.tolerance.min_decimals, or remove it")
	}
}

// checkCRSName checks that a coordinate reference system is known.
func checkCRSName(faults *faultList, path, name string) {
	_, err := crs.Lookup(name)
	if unknown, ok := errors.AsType[*crs.UnknownError](err); ok {
		faults.add(path, unknown.Problem(), unknown.Fix())
	}
}

// checkLimits checks the limits part.
func checkLimits(limits Limits, faults *faultList) {
	for _, limit := range []struct {
		key   string
		value int
	}{
		{"max_bytes", limits.MaxBytes},
		{"max_depth", limits.MaxDepth},
		{"max_collection_depth", limits.MaxCollectionDepth},
		{"max_positions", limits.MaxPositions},
		{"max_rings", limits.MaxRings},
		{"max_crossings", limits.MaxCrossings},
		{"max_output_positions", limits.MaxOutputPositions},
		{"max_output_bytes", limits.MaxOutputBytes},
		{"max_literal_bytes", limits.MaxLiteralBytes},
		{"max_number_bytes", limits.MaxNumberBytes},
	} {
		if limit.value < 0 {
			faults.add("limits."+limit.key, "a limit is not negative", "write a positive number; leave it out for the default")
		}
	}
	if limits.MaxDepth > maxDepth {
		faults.add("limits.max_depth", fmt.Sprintf("%d is more than %d levels", limits.MaxDepth, maxDepth), "write less")
	}
}

// maxDepth is the largest max_depth.
const maxDepth = 1000

// maxDecimals is how many decimals of a degree a double holds.
const maxDecimals = 15

// checkPrecision checks the decimals.
func checkPrecision(decimals, least *int, faults *faultList) {
	if least != nil && (*least < 1 || *least > maxDecimals) {
		faults.add("min_decimals", fmt.Sprintf("%d is not a number of decimals", *least),
			fmt.Sprintf("write 1 to %d under tolerance.min_decimals", maxDecimals))
	}
	if decimals != nil && (*decimals < 0 || *decimals > maxDecimals) {
		faults.add("geometry.round_decimals", fmt.Sprintf("%d is not a number of decimals", *decimals),
			fmt.Sprintf("write 0 to %d", maxDecimals))
	}
}
