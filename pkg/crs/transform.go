package crs

import "errors"

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

// Transform carries coordinates from one CRS to another. [NewTransform] makes it;
// several goroutines may use it.
type Transform struct {
	from, to *CRS
	steps    []datumStep // without the null transformations
	accuracy Accuracy
	same     bool // only the axis order differs
}

// NewTransform returns the transformation between two systems, by the published
// operations with the best stated accuracy; the way back is one with the two
// exchanged. It fails when one of them is nil or did not come from [Lookup] or
// [EPSG].
func NewTransform(from, to *CRS) (*Transform, error) {
	if from == nil || to == nil || from.code == "" || to.code == "" {
		return nil, errors.New("a transformation needs two coordinate reference systems, each from Lookup or EPSG")
	}
	t := &Transform{from: from, to: to, same: from.name == to.name}
	legs := route(from.datum, to.datum)
	start := from.datum
	for _, l := range legs {
		// A null transformation takes latitude and longitude over without a look
		// at the ellipsoid, as PROJ does: the two differ by 0.1 mm at most.
		if l.params != nil {
			t.steps = append(t.steps, datumStep{
				helmert: newHelmert(l.params, l.backwards),
				from:    start.ellipsoid(), to: l.end().ellipsoid(),
			})
		}
		start = l.end()
	}
	t.accuracy = Accuracy{Metres: arithmetic, Source: "both systems have the same datum, so only the arithmetic counts"}
	if len(legs) > 0 {
		t.accuracy = Accuracy{Metres: accuracyOf(legs), Source: describe(legs)}
	}
	return t, nil
}

// From returns the source CRS.
func (t *Transform) From() *CRS { return t.from }

// To returns the target CRS.
func (t *Transform) To() *CRS { return t.to }

// Accuracy returns how far results may be from the truth inside the areas of use
// of both systems, and why. Operations that follow each other add up.
func (t *Transform) Accuracy() Accuracy { return t.accuracy }

// Forward transforms one coordinate: in the unit and axis order of the source
// CRS, to those of the target. The error is a [*RangeError] when the coordinate is
// not finite or outside the domain of either; what comes without an error is
// finite. Between systems that differ in their axis order only, and between
// geographic ones of which the datums differ by a null transformation, the
// numbers stay the same to the last bit.
func (t *Transform) Forward(x, y float64) (float64, float64, error) {
	outX, outY, reason := t.convert(x, y)
	if reason != "" {
		return 0, 0, t.refuse(reason, x, y, 0)
	}
	return outX, outY, nil
}

// ForwardPoints transforms src into dst, which may be the same slice, without
// allocating. An error has the place of the first bad position in its Index; dst
// then holds the positions before it, and what it held after. It panics when dst
// is shorter than src.
func ForwardPoints[P ~[2]float64](t *Transform, dst, src []P) error {
	dst = dst[:len(src)]
	for i, p := range src {
		x, y, reason := t.convert(p[0], p[1])
		if reason != "" {
			return t.refuse(reason, p[0], p[1], i)
		}
		dst[i][0], dst[i][1] = x, y
	}
	return nil
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
		for i := range t.steps {
			lon, lat = t.steps[i].apply(lon, lat)
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

// refuse makes the error of a coordinate.
func (t *Transform) refuse(reason Reason, x, y float64, index int) error {
	e := &RangeError{Reason: reason, CRS: t.from, X: x, Y: y, Index: index}
	if reason == ReasonOutsideTarget {
		e.CRS = t.to
	}
	return e
}
