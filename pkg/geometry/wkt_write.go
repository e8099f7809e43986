package geometry

import (
	"math"
	"strconv"

	"github.com/paulmach/orb"
)

// textWriter appends well-known text.
type textWriter struct {
	out  []byte
	z    []float64 // of the positions that are still to be written
	hasZ bool
}

func appendText(dst []byte, format Format, g Geometry) []byte {
	w := textWriter{out: dst, z: g.Z, hasZ: g.Z != nil}
	if format == EWKT && g.SRID != 0 {
		w.out = append(strconv.AppendInt(append(w.out, "SRID="...), int64(g.SRID), 10), ';')
	}
	w.geometry(g.Shape)
	return w.out
}

// geometry appends a tagged geometry.
func (w *textWriter) geometry(shape orb.Geometry) {
	w.out = append(w.out, kindOf(shape).word()...)
	if w.hasZ {
		w.out = append(w.out, " Z"...)
	}
	w.out = append(w.out, ' ')
	switch shape := shape.(type) {
	case orb.Point:
		w.point(shape)
	case orb.LineString:
		w.positions(shape)
	case orb.Polygon:
		w.polygon(shape)
	case orb.MultiPoint:
		textList(w, shape, w.point)
	case orb.MultiLineString:
		textList(w, shape, func(line orb.LineString) { w.positions(line) })
	case orb.MultiPolygon:
		textList(w, shape, w.polygon)
	case orb.Collection:
		textList(w, shape, w.geometry)
	}
}

func (w *textWriter) polygon(polygon orb.Polygon) {
	textList(w, polygon, func(ring orb.Ring) { w.positions(ring) })
}

func (w *textWriter) positions(points []orb.Point) { textList(w, points, w.position) }

// point appends "(x y)" or "EMPTY".
func (w *textWriter) point(p orb.Point) {
	if !IsEmptyPoint(p) {
		textList(w, []orb.Point{p}, w.position)
		return
	}
	w.out = append(w.out, "EMPTY"...)
}

func (w *textWriter) position(p orb.Point) {
	w.number(p[0])
	w.out = append(w.out, ' ')
	w.number(p[1])
	if w.hasZ {
		w.out = append(w.out, ' ')
		w.number(w.z[0])
		w.z = w.z[1:]
	}
}

// number appends the shortest form that reads back as the same double.
func (w *textWriter) number(f float64) {
	format := byte('f')
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	w.out = strconv.AppendFloat(w.out, f, format, -1, 64) // a NaN is "NaN"
}

// textList appends "(a, b)", or "EMPTY" for no element.
func textList[T any](w *textWriter, list []T, each func(T)) {
	if len(list) == 0 {
		w.out = append(w.out, "EMPTY"...)
		return
	}
	w.out = append(w.out, '(')
	for i, element := range list {
		if i > 0 {
			w.out = append(w.out, ", "...)
		}
		each(element)
	}
	w.out = append(w.out, ')')
}
