package transform

import (
	"fmt"
	"strings"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/crs"
	"github.com/switchback-geo/switchback/pkg/internal/shorten"
)

// Exactness is the accuracy of the coordinates of the output.
type Exactness struct {
	Source, Target *crs.CRS

	// Plane is the accuracy of longitude and latitude, or easting and northing: inside the grid files if there are any,
	// otherwise everywhere. It is nil if source and target are the same system.
	Plane *crs.Accuracy

	// UsesGrid reports whether Plane is the accuracy of a grid file. Outside is then the accuracy of positions that no
	// file covers, or nil if they are refused.
	UsesGrid bool
	Outside  *crs.Accuracy
}

// CheckGrids checks what [Check] cannot, because Check reads no file: that the grid files which the rules name exist for
// the configured source and target. It returns the accuracy of the output. The error is a [*ConfigError]. The rules must
// have passed [Check], and grids are those of their folder, nil if there is none.
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
			"add "+strings.Join(missing, " or ")+", or remove grids")
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

// outside returns the rule for positions that no grid covers. Without a folder the config asks for no grids.
func (s *systems) outside() crs.Outside {
	if s.grids == nil {
		return crs.OutsideParameters
	}
	return s.rules.Grids.Outside
}

// noGrid returns the error for a record that names a system whose grid file is missing; nil if the file exists or none
// is needed.
func (t *Transformer) noGrid(f *Feature, source *crs.CRS, name string) error {
	if t.systems.grids == nil {
		return nil
	}
	_, err := t.systems.transform(source)
	if err == nil {
		return nil
	}
	return f.refuse(classify.CodeUnknownCRS, RuleCRS, "/crs", shorten.Text(name), "the record's coordinate reference system needs a grid file that is missing: "+err.Error(),
		"add the file to geometry.grids.folder, or set geometry.grids.outside: parameters")
}
