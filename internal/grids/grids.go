package grids

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

// Open reads the grid files of a pipeline; nil when it names no folder.
func Open(cfg *config.Config) (*crs.Grids, error) {
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

// Report says how exact the coordinates of the output are.
type Report struct {
	Source  string    `json:"source"` // "EPSG:31467 (DHDN / 3-degree Gauss-Kruger zone 3)"
	Target  string    `json:"target"`
	Plane   *Accuracy `json:"plane,omitempty"`   // none when source and target are the same system
	Outside *Accuracy `json:"outside,omitempty"` // of positions that no grid file covers; none when they are refused
	Refused bool      `json:"refused_outside"`   // such positions are refused
	Heights *Accuracy `json:"heights,omitempty"` // none when they stay as they are
	Files   []File    `json:"files,omitempty"`
	Others  []string  `json:"unused_files,omitempty"` // in the folder, and not used
}

// Accuracy is how far a result may be from the truth.
type Accuracy struct {
	Metres float64 `json:"metres"`
	Source string  `json:"source"`
}

// File is one grid file.
type File struct {
	Name      string  `json:"name"`
	Operation string  `json:"operation"`
	Metres    float64 `json:"metres"`
	Nodes     int     `json:"nodes"`
}

// Describe opens the grid files of a pipeline and says how exact its output is. What is
// wrong with the files is a [*config.Faults], with the place of the key. A folder that is
// not there is an error that is [fs.ErrNotExist]: it may be on the machine that runs the
// pipeline, and not on the one that checks its file.
func Describe(cfg *config.Config) (*Report, error) {
	files, err := Open(cfg)
	if err != nil {
		return nil, ofFolder(cfg, err)
	}
	x, err := transform.CheckGrids(cfg.Transform.Geometry, files)
	if faults, ok := errors.AsType[*transform.ConfigError](err); ok {
		out := &config.Faults{}
		for _, f := range faults.Faults {
			out.List = append(out.List, at(cfg, "transform."+f.Path, f.Message, f.Fix))
		}
		return nil, out
	}
	if err != nil {
		return nil, err
	}
	r := &Report{
		Source: named(x.Source), Target: named(x.Target), Plane: accuracy(x.Plane), Outside: accuracy(x.Outside), Heights: accuracy(x.Heights),
		Refused: x.UsesGrid && x.Outside == nil,
	}
	if files != nil {
		for _, name := range files.Others() {
			if x.Heights == nil || !strings.Contains(x.Heights.Source, name) {
				r.Others = append(r.Others, name)
			}
		}
		for _, f := range files.Files() {
			r.Files = append(r.Files, File{Name: f.Name, Operation: f.Operation, Metres: f.Metres, Nodes: f.Nodes})
		}
	}
	return r, nil
}

// ofFolder gives an error of the folder the place of its key, unless the folder is not
// there.
func ofFolder(cfg *config.Config, err error) error {
	folder := cfg.Transform.Geometry.Grids.Folder
	if _, gone := os.Stat(folder); errors.Is(gone, fs.ErrNotExist) {
		return err
	}
	fault := at(cfg, folderKey, errors.Unwrap(err).Error(), "replace the file with a good copy of it, or take it out of the folder")
	return &config.Faults{List: []config.Fault{fault}}
}

// Warning says that the folder is not there.
func Warning(cfg *config.Config) config.Fault {
	return at(cfg, folderKey, "the folder "+cfg.Transform.Geometry.Grids.Folder+" is not on this machine, so its grid files were not checked",
		"check again where the pipeline runs")
}

const folderKey = "transform.geometry.grids.folder"

// at makes a fault with the place of its key.
func at(cfg *config.Config, path, message, fix string) config.Fault {
	line, column, variable := cfg.Position(path)
	return config.Fault{Line: line, Column: column, Variable: variable, Path: path, Message: message, Fix: fix}
}

func named(c *crs.CRS) string { return c.Code() + " (" + c.Name() + ")" }

func accuracy(a *crs.Accuracy) *Accuracy {
	if a == nil {
		return nil
	}
	return &Accuracy{Metres: a.Metres, Source: a.Source}
}

// Lines writes the report for people. There are none where no coordinate is changed, and
// of a nil report.
func (r *Report) Lines() []string {
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
	if r.Heights != nil {
		out = append(out, fmt.Sprintf("heights: within %g m; %s", r.Heights.Metres, r.Heights.Source))
	}
	for _, f := range r.Files {
		out = append(out, fmt.Sprintf("grid file %s: %s, %g m, %d nodes", f.Name, f.Operation, f.Metres, f.Nodes))
	}
	for _, name := range r.Others {
		line := "not used: " + name
		if strings.EqualFold(filepath.Ext(name), ".tif") {
			line += " (GeoTIFF is not read: take the .gsb or .gtx file of the same grid)"
		}
		out = append(out, line)
	}
	return out
}
