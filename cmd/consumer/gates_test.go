package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
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
			expect.That(t, strings.Contains(out, c.validate) && strings.Contains(out, c.precision) && (c.not == "" || !strings.Contains(out, c.not)), "validate:\n%s", out)
			_, out, _ = call("describe", "-c", path)
			off := name != "all of it"
			expect.That(t, strings.Contains(out, "GATE THAT IS OFF") == off && (!off || strings.Contains(out, c.plan)) && strings.Contains(out, c.precision), "plan:\n%s", out)
		})
	}
}

// S0-9: the file of the first source document lets a single round coordinate pass, and refuses what was cut to 4 decimals.
func TestTransform_S0_9_theFloorOfTheDocument(t *testing.T) {
	name := "../../internal/config/testdata/pipeline_resilience.yaml"
	lines := func(n, decimals int) string {
		var out strings.Builder
		for i := range n {
			fmt.Fprintf(&out, `{"type":"Feature","geometry":{"type":"Point","coordinates":[%.*f,%.*f]},"properties":{}}`+"\n", decimals, 9.5+float64(i)/7919, decimals, 47.1+float64(i)/6997)
		}
		return out.String()
	}
	const round = `{"type":"Feature","geometry":{"type":"Point","coordinates":[9.5,47.1]},"properties":{}}` + "\n"
	code, stdout, stderr := filtered(t, lines(200, 7)+round+lines(200, 6), "-c", name)
	expect.That(t, code == 0 && strings.Count(stdout, "\n") == 401, "honest ones and a round one: exit %d, %s", code, stderr)
	code, stdout, stderr = filtered(t, lines(100, 4), "-c", name)
	if code != 4 || strings.Count(stdout, "\n") != 25 || strings.Count(stderr, `"code":"precision_degraded"`) != 75 {
		t.Errorf("cut to 4 decimals: exit %d, %d lines pass, %s", code, strings.Count(stdout, "\n"), stderr)
	}
}
