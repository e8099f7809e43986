package transform

import (
	"fmt"
	"strings"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/crs"
)

// Exactness is how exact the coordinates of the output are.
type Exactness struct {
	Source, Target *crs.CRS

	// Plane is the accuracy of longitude and latitude, or easting and northing: inside
	// of the grid files where there are some, otherwise everywhere. It is nil when
	// source and target are the same system.
	Plane *crs.Accuracy

	// UsesGrid reports whether Plane is that of a grid file. Outside is then the
	// accuracy of positions that no file covers; nil when they are refused.
	UsesGrid bool
	Outside  *crs.Accuracy
}

// CheckGrids checks what [Check] cannot, because it reads no file: that the grid files
// which the rules name are there for the configured source and target. It returns how
// exact the output is. The error is a [*ConfigError]. The rules have passed [Check], and
// grids are those of their folder, nil when there is none.
func CheckGrids(rules GeometryRules, grids *crs.Grids) (Exactness, error) {
	s := &systems{}
	s.open(Config{Geometry: rules.withDefaults(), Grids: grids})
	return s.exactness()
}

// exactness checks the files for source and target.
func (s *systems) exactness() (Exactness, error) {
	var faults faultList
	x := Exactness{Source: s.source, Target: s.target}
	folder := s.rules.Grids.Folder
	if folder != "" && s.grids == nil {
		faults.add("geometry.grids.folder", "the grid files were not read", "open the folder with crs.OpenGrids, and set Config.Grids")
		return x, &ConfigError{Faults: faults}
	}
	if missing := s.grids.Missing(s.source, s.target); folder != "" && len(missing) > 0 {
		faults.add("geometry.grids.folder", fmt.Sprintf("%q has no grid file for %s to %s", folder, s.source.Code(), s.target.Code()),
			"add "+strings.Join(missing, " or ")+", or take grids away")
		return x, &ConfigError{Faults: faults}
	}
	plane, err := s.transform(s.source)
	if err != nil {
		faults.add("geometry.grids.folder", err.Error(), "add the file")
	} else if plane != nil {
		inside := plane.Accuracy()
		x.Plane, x.UsesGrid = &inside, plane.UsesGrid()
		if second, falls := plane.Fallback(); falls {
			x.Outside = &second
		}
	}
	if len(faults) > 0 {
		return x, &ConfigError{Faults: faults}
	}
	return x, nil
}

// outside is the rule for positions that no grid covers. Without a folder nobody asked
// for grids.
func (s *systems) outside() crs.Outside {
	if s.grids == nil {
		return crs.OutsideParameters
	}
	return s.rules.Grids.Outside
}

// noGrid makes the error of a record that names a system for which no grid file is
// there; nil when there is one, or none is needed.
func (t *Transformer) noGrid(f *Feature, source *crs.CRS, name string) error {
	if t.systems.grids == nil {
		return nil
	}
	_, err := t.systems.transform(source)
	if err == nil {
		return nil
	}
	return f.refuse(classify.CodeUnknownCRS, RuleCRS, "/crs", cut(name), "the record's coordinate reference system needs a grid file that is not there: "+err.Error(),
		"add the file to geometry.grids.folder, or set geometry.grids.outside: parameters")
}
