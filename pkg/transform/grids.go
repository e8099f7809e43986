package transform

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/paulmach/orb"
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

	// Heights is the accuracy of the heights; nil when they stay as they are.
	Heights *crs.Accuracy
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
	heights, err := s.heights(s.source)
	if err != nil {
		faults.add("geometry.target_heights", err.Error(), "add the file to geometry.grids.folder, or take the heights away")
	} else if heights != nil {
		accuracy := heights.Accuracy()
		x.Heights = &accuracy
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

// heights returns what changes the heights of places in a system; nil when they stay.
func (s *systems) heights(from *crs.CRS) (*crs.Heights, error) {
	if s.rules.SourceHeights == "" {
		return nil, nil
	}
	if h, found := s.heightsOf.Load(from.Code()); found {
		return h.(*crs.Heights), nil
	}
	h, err := s.grids.NewHeights(from, s.rules.SourceHeights, s.rules.TargetHeights, s.outside())
	if err == nil {
		s.heightsOf.Store(from.Code(), h)
	}
	return h, err
}

// noGrid makes the error of a record that names a system for which no grid file is
// there; nil when there is one, or none is needed.
func (t *Transformer) noGrid(f *Feature, source *crs.CRS, name string) error {
	if t.systems.grids == nil {
		return nil
	}
	_, err := t.systems.transform(source)
	if err == nil {
		_, err = t.systems.heights(source)
	}
	if err == nil {
		return nil
	}
	return f.refuse(classify.CodeUnknownCRS, RuleCRS, "/crs", cut(name), "the record's coordinate reference system needs a grid file that is not there: "+err.Error(),
		"add the file to geometry.grids.folder, or set geometry.grids.outside: parameters")
}

// heightUnits is how many units of a changed height a metre has: it is a sum, and the
// digits below 0.1 mm are noise.
const heightUnits = 10_000

// lift changes the heights of a geometry in its source system to the target's system of
// heights.
func (t *Transformer) lift(f *Feature, from Gated) (Gated, error) {
	h, err := t.systems.heights(from.source)
	if err != nil || h == nil || from.geometry.Z == nil {
		return from, err
	}
	z := slices.Clone(from.geometry.Z)
	index, n := -1, 0
	eachLine(from.geometry.Shape, func(line []orb.Point) {
		for _, p := range line {
			if err == nil && n < len(z) && !math.IsNaN(z[n]) {
				var shift float64
				if shift, err = h.Shift(p[0], p[1]); err != nil {
					index = n
				}
				z[n] = math.Round((z[n]+shift)*heightUnits) / heightUnits
			}
			n++
		}
	})
	if err != nil {
		return from, t.outside(f, from.source, from.geometry, index, err)
	}
	from.geometry.Z, from.changed = z, true
	return from, nil
}
