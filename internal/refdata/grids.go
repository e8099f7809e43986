package refdata

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/pkg/crs"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// OpenGrids reads the folder of grid files that a pipeline names; nil if it names none.
func OpenGrids(cfg *config.Config) (*crs.Grids, error) {
	folder := cfg.Transform.Geometry.Grids.Folder
	if folder == "" {
		return nil, nil
	}
	files, err := crs.OpenGrids(folder)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", folderKey, err)
	}
	return files, nil
}

// GridReport describes how exact the coordinates of the output are, for `consumer validate` and `consumer describe`.
type GridReport struct {
	Source  string        `json:"source"` // "EPSG:31467 (DHDN / 3-degree Gauss-Kruger zone 3)"
	Target  string        `json:"target"`
	Plane   *GridAccuracy `json:"plane,omitempty"`   // nil if source and target are the same system
	Outside *GridAccuracy `json:"outside,omitempty"` // of positions that no grid file covers; nil if they are refused
	Refused bool          `json:"refused_outside"`   // such positions are refused
	Files   []GridFile    `json:"files,omitempty"`
	Others  []string      `json:"unused_files,omitempty"` // in the folder, but not used
}

// GridAccuracy is the expected distance of a result from the true position.
type GridAccuracy struct {
	Metres float64 `json:"metres"`
	Source string  `json:"source"`
}

// GridFile is one grid file.
type GridFile struct {
	Name      string  `json:"name"`
	Operation string  `json:"operation"`
	Metres    float64 `json:"metres"`
	Nodes     int     `json:"nodes"`
}

// DescribeGrids opens the grid files of a pipeline and reports how exact its output is. Faults of the files are a
// [*config.Faults] with the position of the key. For a missing folder, the error is [fs.ErrNotExist]: the folder may
// only exist on the machine that runs the pipeline.
func DescribeGrids(cfg *config.Config) (*GridReport, error) {
	files, err := OpenGrids(cfg)
	if err != nil {
		return nil, folderFault(cfg, err)
	}
	x, err := transform.CheckGrids(cfg.Transform.Geometry, files)
	if faults, ok := errors.AsType[*transform.ConfigError](err); ok {
		out := &config.Faults{}
		for _, f := range faults.Faults {
			out.List = append(out.List, gridFault(cfg, "transform."+f.Path, f.Message, f.Fix))
		}
		return nil, out
	}
	if err != nil {
		return nil, err
	}
	r := &GridReport{
		Source: namedCRS(x.Source), Target: namedCRS(x.Target), Plane: accuracyOf(x.Plane), Outside: accuracyOf(x.Outside),
		Refused: x.UsesGrid && x.Outside == nil,
	}
	if files != nil {
		r.Others = files.Others()
		for _, f := range files.Files() {
			r.Files = append(r.Files, GridFile{Name: f.Name, Operation: f.Operation, Metres: f.Metres, Nodes: f.Nodes})
		}
	}
	return r, nil
}

// folderFault adds the position of the folder's key to an error, unless the folder is missing.
func folderFault(cfg *config.Config, err error) error {
	folder := cfg.Transform.Geometry.Grids.Folder
	if _, gone := os.Stat(folder); errors.Is(gone, fs.ErrNotExist) {
		return err
	}
	fault := gridFault(cfg, folderKey, errors.Unwrap(err).Error(), "replace the file with a good copy of it, or remove it from the folder")
	return &config.Faults{List: []config.Fault{fault}}
}

// MissingGrids is the warning that the folder is missing.
func MissingGrids(cfg *config.Config) config.Fault {
	return gridFault(cfg, folderKey, "the folder "+cfg.Transform.Geometry.Grids.Folder+" is not on this machine, so its grid files were not checked",
		"check again where the pipeline runs")
}

const folderKey = "transform.geometry.grids.folder"

// gridFault returns a fault with the position of its key.
func gridFault(cfg *config.Config, path, message, fix string) config.Fault {
	line, column, variable := cfg.Position(path)
	return config.Fault{Line: line, Column: column, Variable: variable, Path: path, Message: message, Fix: fix}
}

func namedCRS(c *crs.CRS) string { return c.Code() + " (" + c.Name() + ")" }

func accuracyOf(a *crs.Accuracy) *GridAccuracy {
	if a == nil {
		return nil
	}
	return &GridAccuracy{Metres: a.Metres, Source: a.Source}
}

// Lines returns the report as lines of text. There are none for a nil report, or if no coordinate is changed.
func (r *GridReport) Lines() []string {
	var out []string
	if r == nil {
		return nil
	}
	if r.Plane != nil {
		out = append(out, fmt.Sprintf("coordinates from %s to %s: within %g m; %s", r.Source, r.Target, r.Plane.Metres, r.Plane.Source))
	}
	switch {
	case r.Refused:
		out = append(out, "positions that no grid file covers: refused (transform.geometry.grids.outside)")
	case r.Outside != nil:
		out = append(out, fmt.Sprintf("positions that no grid file covers: within %g m; %s", r.Outside.Metres, r.Outside.Source))
	}
	for _, f := range r.Files {
		out = append(out, fmt.Sprintf("grid file %s: %s, %g m, %d nodes", f.Name, f.Operation, f.Metres, f.Nodes))
	}
	for _, name := range r.Others {
		line := "not used: " + name
		if strings.EqualFold(filepath.Ext(name), ".tif") {
			line += " (GeoTIFF is not supported: use the .gsb file of the same grid)"
		}
		out = append(out, line)
	}
	return out
}
