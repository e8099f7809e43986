package refdata

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// testGrids has small files with the names of published ones.
const testGrids = "../../pkg/crs/testdata/grids"

// parseGrids loads a pipeline file with these geometry rules.
func parseGrids(t *testing.T, geometry string) *config.Config {
	t.Helper()
	cfg := must.Get(config.Parse("test.yaml", []byte(`
pipeline:
  id: parcels
  retry_policy: {max_attempts: 3, base_delay_seconds: 2.0, retryable_status_codes: [503]}
  tolerance: {max_null_rate: 1, halt_on_geometry_invalid: false}
transform:
  geometry: {`+geometry+`}
`), nil))(t)
	return cfg
}

func TestDescribeGrids_S1_4(t *testing.T) {
	const german = "source_crs: EPSG:31467, target_crs: EPSG:25832, "
	for name, c := range map[string]struct {
		geometry string
		lines    []string // parts of them, in their order
	}{
		"the_same_system": {"", nil},
		"parameters":      {"source_crs: EPSG:27700", []string{"coordinates from EPSG:27700 (OSGB36 / British National Grid) to EPSG:4326 (WGS 84): within 5 m; EPSG:1314"}},
		"grid": {german + "grids: {folder: " + testGrids + "}", []string{
			"to EPSG:25832 (ETRS89 / UTM zone 32N): within 0.9 m; EPSG:15948 DHDN to ETRS89 (8) (grid file BETA2007.gsb",
			"positions that no grid file covers: refused (transform.geometry.grids.outside)",
			"grid file BETA2007.gsb: EPSG:15948 DHDN to ETRS89 (8), 0.9 m, 627 nodes", "grid file rgf93_ntf.gsb",
			"not used: egm96_15.gtx", "not used: nlgeo2018.gtx",
		}},
		"outside_by_parameters": {german + "grids: {folder: " + testGrids + ", outside: parameters}", []string{
			"within 0.9 m", "positions that no grid file covers: within 3 m; EPSG:1776", "grid file", "grid file", "not used", "not used",
		}},
		"heights": {"source_heights: EPSG:5773, target_heights: EPSG:4979, grids: {folder: " + testGrids + "}", []string{
			"heights: within 1 m; EPSG:10084 WGS 84 to EGM96 height (1) (geoid file egm96_15.gtx)", "grid file", "grid file", "not used: nlgeo2018.gtx",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			r := must.Get(DescribeGrids(parseGrids(t, c.geometry)))(t)
			lines := r.Lines()
			must.That(t, len(lines) == len(c.lines), "%q", lines)
			for i, want := range c.lines {
				expect.That(t, strings.Contains(lines[i], want), "got %q, want %q", lines[i], want)
			}
		})
	}
}

// A folder that is not there may be elsewhere; what is wrong with one that is there is a
// fault with its place.
func TestDescribeGrids_refuses(t *testing.T) {
	dir := t.TempDir()
	const german = "source_crs: EPSG:31467, grids: {folder: "
	_, err := DescribeGrids(parseGrids(t, german+filepath.Join(dir, "none")+"}"))
	if faults := new(config.Faults); errors.As(err, &faults) || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no folder: %v", err)
	}
	w := MissingGrids(parseGrids(t, german+dir+"}"))
	expect.That(t, w.Line == 7 && strings.Contains(w.Message, dir), "warning %+v", w)
	expect := func(name, has string) {
		t.Helper()
		_, err := DescribeGrids(parseGrids(t, german+dir+"}"))
		faults := new(config.Faults)
		expect.That(t, errors.As(err, &faults) && strings.Contains(err.Error(), has) && faults.List[0].Line == 7 && faults.List[0].Path == "transform.geometry.grids.folder",
			"%s: %v", name, err)
	}
	expect("empty", "add BETA2007.gsb or")
	must.Do(t, os.WriteFile(filepath.Join(dir, "BETA2007.gsb"), []byte("NUM_OREC"), 0o600))
	expect("damaged", "BETA2007.gsb: byte 0: the file ends after 8 bytes")
}
