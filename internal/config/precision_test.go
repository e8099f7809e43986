package config

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// The key was the number of decimals to round to. A file of that time is never rounded more than it was, and one that would
// be rounded less is refused: rounding may have been there to hide where something is.
func TestParse_S0_9_whatAFileIsRoundedTo(t *testing.T) {
	for name, c := range map[string]struct {
		floor, rounded string
		want           int
		refused        string // part of the fault's fix
	}{
		"neither":                {"", "", 6, ""},
		"the document's own":     {"6", "", 6, ""},
		"more than the default":  {"8", "", 8, ""},
		"fewer":                  {"3", "", 0, "write transform.geometry.round_decimals: 3 to round as before"},
		"none":                   {"0", "", 0, "leave pipeline.tolerance.precision_decimal_threshold at 0"},
		"fewer, and both":        {"3", "3", 3, ""},
		"rounding alone":         {"", "3", 3, ""},
		"whole numbers":          {"", "0", 0, ""},
		"coarser than the floor": {"6", "2", 2, ""},
	} {
		t.Run(name, func(t *testing.T) {
			text := minimalText
			if c.floor != "" {
				text = strings.Replace(text, "max_null_rate: 1", "max_null_rate: 1, precision_decimal_threshold: "+c.floor, 1)
			}
			if c.rounded != "" {
				text += "transform: {geometry: {round_decimals: " + c.rounded + "}}\n"
			}
			cfg, err := Parse("test.yaml", []byte(text), nil)
			var faults *Faults
			switch {
			case c.refused != "":
				if !errors.As(err, &faults) || len(faults.List) != 1 || faults.List[0].Line == 0 || !strings.Contains(faults.List[0].Fix, c.refused) {
					t.Errorf("got %v", err)
				}
			case err != nil:
				t.Error(err)
			case *cfg.Transform.Geometry.RoundDecimals != c.want || c.floor != "" && fmt.Sprint(cfg.Pipeline.Tolerance.PrecisionDecimalThreshold) != c.floor:
				t.Errorf("rounds to %d, floor %d", *cfg.Transform.Geometry.RoundDecimals, cfg.Pipeline.Tolerance.PrecisionDecimalThreshold)
			}
		})
	}
}
