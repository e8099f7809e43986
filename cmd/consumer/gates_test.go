package main

import (
	"strings"
	"testing"
)

// The gates that are off, and the floor of precision, are said before anything runs.
func TestValidateAndPlan_S0_8_S0_9_whatIsOff(t *testing.T) {
	const strict = "transform: { geometry: { gates: strict, types: [Point], antimeridian: reject, bbox: check } }\n"
	floor := strings.Replace(pipelineFile, "max_null_rate: 1", "max_null_rate: 1, precision_decimal_threshold: 7", 1)
	for name, c := range map[string]struct {
		file, validate, plan, precision string
		not                             string
	}{
		"default":       {pipelineFile, "gates that are off: geometry.null_geometry, geometry.dimension", "geometry.simplicity: accept", "no floor", ""},
		"strict":        {pipelineFile + strict, "gates that are off: geometry.coarse\n", "geometry.coarse", "switchback_coordinate_decimals", "simplicity"},
		"with a floor":  {floor, "gates that are off: ", "geometry.simplicity: accept", "the floor is 7 decimals, broken when more than 50 of the last 100 ordinates have fewer; the output is rounded to 7 decimals", "geometry.coarse"},
		"all of it":     {floor + strict, "valid", "GATE", "the floor is 7 decimals", "off"},
		"all, and some": {floor + strings.Replace(strict, "bbox: check", "round_decimals: 1", 1), "geometry.bbox", "geometry.bbox: keep", "rounded to 1 decimal\n", "coarse"},
	} {
		t.Run(name, func(t *testing.T) {
			path := file(t, c.file)
			_, out, _ := call("validate", "-c", path)
			if !strings.Contains(out, c.validate) || !strings.Contains(out, c.precision) || c.not != "" && strings.Contains(out, c.not) {
				t.Errorf("validate:\n%s", out)
			}
			_, out, _ = call("plan", "-c", path)
			if off := name != "all of it"; strings.Contains(out, "GATE THAT IS OFF") != off || off && !strings.Contains(out, c.plan) || !strings.Contains(out, c.precision) {
				t.Errorf("plan:\n%s", out)
			}
		})
	}
}
