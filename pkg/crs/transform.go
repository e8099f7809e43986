package crs

import (
	"errors"
	"slices"
	"strings"
)

// Accuracy is the expected distance of a transformed coordinate from the true one.
type Accuracy struct {
	// Metres is the accuracy in metres. It is a statement about operations, not a bound for each point.
	Metres float64

	// Source names where the figure comes from: the operations with their EPSG codes, or the arithmetic alone.
	Source string
}

// arithmetic is the bound in metres without a change of datum. The tests measure less than a thousandth of it against
// PROJ.
const arithmetic = 0.001

// Outside tells what happens to a coordinate that no grid file covers, if a grid is known for its datums.
type Outside string

const (
	// OutsideRefuse returns an error.
	OutsideRefuse Outside = "refuse"
	// OutsideParameters uses the parameters, which are metres less accurate: see [Transform.Fallback].
	OutsideParameters Outside = "parameters"
)

// Outsides lists every [Outside].
func Outsides() []Outside { return []Outside{OutsideRefuse, OutsideParameters} }

// Transform transforms coordinates from one CRS to another. [NewTransform] creates it. Several goroutines may use it.
type Transform struct {
	from, to *CRS
	steps    []datumStep
	accuracy Accuracy
	fallback []datumStep // used outside of the grids if hasGrid is true and refuses is false
	second   Accuracy    // accuracy of fallback
	hasGrid  bool
	refuses  bool // whether it refuses places outside of the grids
	same     bool // only the axis order differs
}

// NewTransform returns the transformation between two systems without grid files. It uses the published operations with
// the best stated accuracy. For the inverse, exchange from and to. It returns an error if one of them is nil or was not
// created by [Lookup] or [EPSG].
func NewTransform(from, to *CRS) (*Transform, error) {
	return (*Grids)(nil).NewTransform(from, to, OutsideParameters)
}

// NewTransform returns the transformation between two systems. A loaded grid file for the datum of a system replaces the
// parameters. With [OutsideRefuse], it returns a [*MissingGridError] if a grid is known and none is loaded.
func (g *Grids) NewTransform(from, to *CRS, outside Outside) (*Transform, error) {
	if from == nil || to == nil || from.code == "" || to.code == "" {
		return nil, errors.New("a transformation needs two coordinate reference systems, each from Lookup or EPSG")
	}
	best := route(from.datum, to.datum, g.of)
	t := &Transform{
		from: from, to: to, same: from.name == to.name, steps: stepsOf(best.legs), accuracy: best.stated(),
		hasGrid: best.hasGrid(), refuses: outside != OutsideParameters,
	}
	switch {
	case t.refuses && !t.hasGrid:
		if missing := g.Missing(from, to); len(missing) > 0 {
			return nil, &MissingGridError{From: from, To: to, Files: missing}
		}
	case t.hasGrid && !t.refuses:
		second := route(from.datum, to.datum, noGrids)
		t.fallback, t.second = stepsOf(second.legs), second.stated()
	}
	return t, nil
}

// Missing lists the names of the grid files that would make the transformation between two systems more accurate. Any
// one of them is enough. It is empty if one is loaded or none is known.
func (g *Grids) Missing(from, to *CRS) []string {
	if loaded := route(from.datum, to.datum, g.of); loaded.hasGrid() {
		return nil
	}
	known := func(s *shift) *gridFile { return &gridFile{name: s.files[0]} }
	best := route(from.datum, to.datum, known)
	var out []string
	for _, l := range best.legs {
		if l.kind != shiftGrid {
			continue
		}
		for r := range rows(shiftTable) {
			if s := r.shift(); s.from == l.from && s.kind == shiftGrid {
				for _, name := range s.files {
					out = append(out, strings.TrimPrefix(name, "!"))
				}
			}
		}
	}
	return out
}

// hasGrid reports whether the path uses a grid.
func (w *way) hasGrid() bool {
	return slices.ContainsFunc(w.legs, func(l leg) bool { return l.kind == shiftGrid })
}

// stated returns the accuracy of the path and its source.
func (w *way) stated() Accuracy {
	if len(w.legs) == 0 {
		return Accuracy{Metres: arithmetic, Source: "both systems have the same datum, so only the arithmetic counts"}
	}
	return Accuracy{Metres: max(arithmetic, w.accuracy), Source: describe(w.legs)}
}

// From returns the source CRS.
func (t *Transform) From() *CRS { return t.from }

// To returns the target CRS.
func (t *Transform) To() *CRS { return t.to }

// Accuracy returns the accuracy inside the areas of use of both systems, and its source. The accuracies of successive
// operations add up.
func (t *Transform) Accuracy() Accuracy { return t.accuracy }

// UsesGrid reports whether the transformation uses a grid file.
func (t *Transform) UsesGrid() bool { return t.hasGrid }

// Fallback returns the accuracy outside of the grid files. It returns false if such coordinates are refused or no grid
// file is used.
func (t *Transform) Fallback() (Accuracy, bool) { return t.second, t.hasGrid && !t.refuses }

// Forward transforms one coordinate from the unit and axis order of the source CRS to those of the target. It returns a
// [*RangeError] if the coordinate is not finite or outside of the domain of either CRS. A result without an error is
// finite. The numbers keep their last bit if the systems differ in their axis order only, or if they are geographic and
// their datums differ by a null transformation.
func (t *Transform) Forward(x, y float64) (float64, float64, error) {
	outX, outY, reason := t.convert(x, y)
	if reason != "" {
		return 0, 0, t.refuse(reason, x, y)
	}
	return outX, outY, nil
}

// convert transforms one coordinate, or returns the reason why it cannot.
func (t *Transform) convert(x, y float64) (float64, float64, Reason) {
	inX, inY := x, y
	if t.from.order == AxisYX {
		inX, inY = y, x
	}
	if !finite(inX, inY) {
		return 0, 0, ReasonNonFinite
	}
	lon, lat, ok := t.from.toGeographic(inX, inY)
	if !ok {
		return 0, 0, ReasonOutsideSource
	}
	outX, outY := inX, inY
	if !t.same {
		if lon, lat, ok = t.shift(lon, lat); !ok {
			return 0, 0, ReasonOutsideGrid
		}
		if outX, outY, ok = t.to.fromGeographic(lon, lat); !ok {
			return 0, 0, ReasonOutsideTarget
		}
	}
	if t.to.order == AxisYX {
		return outY, outX, ""
	}
	return outX, outY, ""
}

// shift moves a position from the datum of the source to that of the target. It returns false if no grid covers it and
// parameters are not accepted.
func (t *Transform) shift(lon, lat float64) (float64, float64, bool) {
	toLon, toLat, ok := through(t.steps, lon, lat)
	if !ok && !t.refuses {
		return through(t.fallback, lon, lat)
	}
	return toLon, toLat, ok
}

func through(steps []datumStep, lon, lat float64) (float64, float64, bool) {
	ok := true
	for i := range steps {
		if lon, lat, ok = steps[i].apply(lon, lat); !ok {
			return 0, 0, false
		}
	}
	return lon, lat, ok
}

// refuse returns the error for a coordinate.
func (t *Transform) refuse(reason Reason, x, y float64) error {
	e := &RangeError{Reason: reason, CRS: t.from, X: x, Y: y}
	if reason == ReasonOutsideTarget {
		e.CRS = t.to
	}
	return e
}
