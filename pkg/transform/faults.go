package transform

import (
	"fmt"
	"strings"
)

// Fault is one thing that is wrong with a [Config].
type Fault struct {
	// Path is the place in the YAML of the mapping, such as "fields[2].type".
	Path string

	// Message says what is wrong, Fix what to do.
	Message, Fix string
}

// String returns the fault in one line.
func (f Fault) String() string { return f.Path + ": " + f.Message + "; " + f.Fix }

// ConfigError lists everything that is wrong with a [Config].
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
	for _, candidate := range known {
		if word == candidate {
			return
		}
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
	checkWord(faults, "geometry.validity", rules.Validity, Validities())
	checkWord(faults, "geometry.null_geometry", rules.NullGeometry, Acceptances())
	checkWord(faults, "geometry.empty_geometry", rules.EmptyGeometry, Acceptances())
	for i, kind := range rules.Types {
		checkWord(faults, fmt.Sprintf("geometry.types[%d]", i), kind, GeometryTypes())
	}
	if rules.Validity != ValidityFlag {
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

// checkCRSName checks that a coordinate reference system is supported.
func checkCRSName(faults *faultList, path, name string) {
	if !isSupportedCRS(name) {
		faults.add(path, fmt.Sprintf("%q is not supported", name),
			"this version reads and writes WGS 84 only: write one of "+quoteList(SupportedCRS()))
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

// maxDepth is the most that max_depth may be.
const maxDepth = 1000

// maxDecimals is the most that a double has of a degree.
const maxDecimals = 15

// checkPrecision checks the decimals.
func checkPrecision(decimals *int, faults *faultList) {
	if decimals != nil && (*decimals < 0 || *decimals > maxDecimals) {
		faults.add("precision_decimals", fmt.Sprintf("%d is not a number of decimals", *decimals),
			fmt.Sprintf("write 0 to %d under tolerance.precision_decimal_threshold", maxDecimals))
	}
}
