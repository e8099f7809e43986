package crs

import (
	"errors"
	"slices"
	"strings"
)

// Accuracy is how far a transformed coordinate may be from the true one.
type Accuracy struct {
	// Metres is the accuracy in metres. It is a statement about operations, not a
	// bound for each point.
	Metres float64

	// Source says where the bound comes from: the operations, by their EPSG
	// codes, or that only the arithmetic counts.
	Source string
}

// arithmetic is the bound in metres where there is no change of datum. The tests
// find less than a thousandth of it against PROJ.
const arithmetic = 0.001

// Outside says what becomes of a coordinate for whose datums a grid is known, and
// that no grid file covers.
type Outside string

const (
	// OutsideRefuse makes it an error.
	OutsideRefuse Outside = "refuse"
	// OutsideParameters transforms it by parameters, which are metres off: see
	// [Transform.Fallback].
	OutsideParameters Outside = "parameters"
)

// Outsides lists every [Outside].
func Outsides() []Outside { return []Outside{OutsideRefuse, OutsideParameters} }

// Transform carries coordinates from one CRS to another. [NewTransform] makes it;
// several goroutines may use it.
type Transform struct {
	from, to *CRS
	steps    []datumStep
	accuracy Accuracy
	fallback []datumStep // outside of the grids, where hasGrid and the rule allows it
	second   Accuracy    // of fallback
	hasGrid  bool
	refuses  bool // outside of the grids
	same     bool // only the axis order differs
}

// NewTransform returns the transformation between two systems without grid files, by
// the published operations with the best stated accuracy; the way back is one with
// the two exchanged. It fails when one of them is nil or did not come from [Lookup]
// or [EPSG].
func NewTransform(from, to *CRS) (*Transform, error) {
	return (*Grids)(nil).NewTransform(from, to, OutsideParameters)
}

// NewTransform is the function of that name with grid files: where one is loaded for
// the datum of a system it takes the place of the parameters. With [OutsideRefuse]
// it fails with a [*MissingGridError] where a grid is known and none is loaded.
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

// Missing lists the names of grid files of which any would make the transformation
// between two systems more exact, when none is loaded for it; otherwise it is empty.
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

// hasGrid reports whether a grid is on the way.
func (w *way) hasGrid() bool {
	return slices.ContainsFunc(w.legs, func(l leg) bool { return l.kind == shiftGrid })
}

// stated returns the accuracy of the way and its source.
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

// Accuracy returns how far results may be from the truth inside the areas of use
// of both systems, and why. Operations that follow each other add up.
func (t *Transform) Accuracy() Accuracy { return t.accuracy }

// UsesGrid reports whether a grid file is used.
func (t *Transform) UsesGrid() bool { return t.hasGrid }

// Fallback returns the accuracy outside of the grid files; false where such
// coordinates are refused, and where no grid file is used.
func (t *Transform) Fallback() (Accuracy, bool) { return t.second, t.hasGrid && !t.refuses }

// Forward transforms one coordinate: in the unit and axis order of the source
// CRS, to those of the target. The error is a [*RangeError] when the coordinate is
// not finite or outside the domain of either; what comes without an error is
// finite. Between systems that differ in their axis order only, and between
// geographic ones of which the datums differ by a null transformation, the
// numbers stay the same to the last bit.
func (t *Transform) Forward(x, y float64) (float64, float64, error) {
	outX, outY, reason := t.convert(x, y)
	if reason != "" {
		return 0, 0, t.refuse(reason, x, y)
	}
	return outX, outY, nil
}

// convert transforms one coordinate, or says why it cannot.
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

// shift carries a position from the datum of the source to that of the target; false
// where no grid covers it and the parameters are not wanted.
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

// refuse makes the error of a coordinate.
func (t *Transform) refuse(reason Reason, x, y float64) error {
	e := &RangeError{Reason: reason, CRS: t.from, X: x, Y: y}
	if reason == ReasonOutsideTarget {
		e.CRS = t.to
	}
	return e
}
