package geometry

import (
	"encoding/binary"
	"math"

	"github.com/paulmach/orb"
)

// binaryWriter appends WKB and EWKB.
type binaryWriter struct {
	out      []byte
	extended bool
	srid     int32
	z        []float64 // of the positions still to be written; nil if there are none
	hasZ     bool
}

func appendBinary(dst []byte, dialect Format, g Geometry) []byte {
	w := binaryWriter{out: dst, extended: dialect == EWKB, srid: g.SRID, z: g.Z, hasZ: g.Z != nil}
	w.geometry(g.Shape, true)
	return w.out
}

// header appends byte order, type and, for the outermost geometry, the SRID.
func (w *binaryWriter) header(k kind, outermost bool) {
	code := uint32(k)
	withSRID := w.extended && outermost && w.srid != 0
	switch {
	case w.hasZ && w.extended:
		code |= flagZ
	case w.hasZ:
		code += 1000
	}
	if withSRID {
		code |= flagSRID
	}
	w.out = append(w.out, 1)
	w.out = binary.LittleEndian.AppendUint32(w.out, code)
	if withSRID {
		w.count(int(w.srid))
	}
}

func (w *binaryWriter) count(n int) {
	w.out = binary.LittleEndian.AppendUint32(w.out, uint32(n)) //nolint:gosec // a slice of 2^32 positions would need 64 GiB
}

func (w *binaryWriter) geometry(shape orb.Geometry, outermost bool) {
	w.header(kindOf(shape), outermost)
	switch shape := shape.(type) {
	case orb.Point:
		w.position(shape)
	case orb.LineString:
		w.positions(shape)
	case orb.Polygon:
		w.count(len(shape))
		for _, ring := range shape {
			w.positions(ring)
		}
	case orb.MultiPoint:
		nested(w, shape)
	case orb.MultiLineString:
		nested(w, shape)
	case orb.MultiPolygon:
		nested(w, shape)
	case orb.Collection:
		nested(w, shape)
	}
}

// nested appends the members of a geometry.
func nested[T orb.Geometry](w *binaryWriter, list []T) {
	w.count(len(list))
	for _, member := range list {
		w.geometry(member, false)
	}
}

func (w *binaryWriter) positions(points []orb.Point) {
	w.count(len(points))
	for _, p := range points {
		w.position(p)
	}
}

func (w *binaryWriter) position(p orb.Point) {
	w.float64(p[0])
	w.float64(p[1])
	switch {
	case w.hasZ && IsEmptyPoint(p):
		w.float64(math.NaN())
	case w.hasZ:
		w.float64(w.z[0])
		w.z = w.z[1:]
	}
}

// quietNaN is the NaN that GEOS and PostGIS write; Go's has another bit set.
const quietNaN = 0x7ff8000000000000

func (w *binaryWriter) float64(f float64) {
	bits := math.Float64bits(f)
	if math.IsNaN(f) {
		bits = quietNaN
	}
	w.out = binary.LittleEndian.AppendUint64(w.out, bits)
}
