package main

import (
	"bytes"
	"strings"
	"testing"
)

// TestCoordinates_S1_4: validate and plan say how exact coordinates are, and what is
// wrong with the grid files.
func TestCoordinates_S1_4(t *testing.T) {
	const grids = "../../pkg/crs/testdata/grids"
	with := func(folder string) string {
		return file(t, pipelineFile+"transform:\n  geometry: {source_crs: EPSG:31467, target_crs: EPSG:25832, grids: {folder: "+folder+"}}\n")
	}
	const exact, empty = "within 0.9 m; EPSG:15948", "has no grid file for EPSG:31467 to EPSG:25832; add BETA2007.gsb"
	for name, c := range map[string]struct {
		args        []string
		code        int
		out, errors string // parts of them
	}{
		"validate":                {[]string{"validate", "-c", with(grids)}, exitDone, exact, ""},
		"validate_for_programs":   {[]string{"validate", "-c", with(grids), "-o", "ndjson"}, exitDone, `"coordinates":{"source":"EPSG:31467 (DHDN / 3-degree Gauss-Kruger zone 3)"`, ""},
		"describe":                {[]string{"describe", "-c", with(grids)}, exitDone, exact, ""},
		"validate_without_a_file": {[]string{"validate", "-c", with(t.TempDir())}, exitUsage, "", empty},
		"describe_without_a_file": {[]string{"describe", "-c", with(t.TempDir())}, exitUsage, "", empty},
		"validate_elsewhere":      {[]string{"validate", "-c", with("/nowhere/grids")}, exitDone, "1 warning", "/nowhere/grids is not on this machine"},
		"describe_elsewhere":      {[]string{"describe", "-c", with("/nowhere/grids")}, exitDone, "TOPIC", "/nowhere/grids is not on this machine"},
		"transform_elsewhere":     {[]string{"transform", "-c", with("/nowhere/grids")}, exitUsage, "", "/nowhere/grids"},
	} {
		t.Run(name, func(t *testing.T) {
			var out, errs bytes.Buffer
			if code := run(c.args, &out, &errs); code != c.code || !strings.Contains(out.String(), c.out) || !strings.Contains(errs.String(), c.errors) {
				t.Errorf("exit %d\n%s\n%s", code, out.String(), errs.String())
			}
		})
	}
}
