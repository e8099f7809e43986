package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
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
		code        cli.Exit
		out, errors string // parts of them
	}{
		"validate":                {[]string{"validate", "-c", with(grids)}, cli.ExitDone, exact, ""},
		"validate_for_programs":   {[]string{"validate", "-c", with(grids), "-o", "ndjson"}, cli.ExitDone, `"coordinates":{"source":"EPSG:31467 (DHDN / 3-degree Gauss-Kruger zone 3)"`, ""},
		"describe":                {[]string{"describe", "-c", with(grids)}, cli.ExitDone, exact, ""},
		"validate_without_a_file": {[]string{"validate", "-c", with(t.TempDir())}, cli.ExitUsage, "", empty},
		"describe_without_a_file": {[]string{"describe", "-c", with(t.TempDir())}, cli.ExitUsage, "", empty},
		"validate_elsewhere":      {[]string{"validate", "-c", with("/nowhere/grids")}, cli.ExitDone, "1 warning", "/nowhere/grids is not on this machine"},
		"describe_elsewhere":      {[]string{"describe", "-c", with("/nowhere/grids")}, cli.ExitDone, "TOPIC", "/nowhere/grids is not on this machine"},
		"transform_elsewhere":     {[]string{"transform", "-c", with("/nowhere/grids")}, cli.ExitUsage, "", "/nowhere/grids"},
	} {
		t.Run(name, func(t *testing.T) {
			var out, errs bytes.Buffer
			code := run(c.args, &out, &errs)
			expect.That(t, code == c.code && strings.Contains(out.String(), c.out) && strings.Contains(errs.String(), c.errors), "exit %d\n%s\n%s", code, out.String(), errs.String())
		})
	}
}
