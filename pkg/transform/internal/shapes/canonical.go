package shapes

import (
	"encoding/binary"
	"math"

	"github.com/paulmach/orb"
)

// The canonical form of a geometry consists of its doubles, not of their decimals, because writing decimals would take
// longer than hashing them. A shape is a byte for its type; an array is its length and its elements.

// Bytes for the types; 0 is a null geometry.
const (
	tagPoint byte = iota + 1
	tagMultiPoint
	tagLineString
	tagMultiLineString
	tagPolygon
	tagMultiPolygon
	tagCollection
	tagUnknown
)

// AppendCanonical appends the canonical form of a geometry: its shape, and its heights if any position has one.
func AppendCanonical(dst []byte, shape orb.Geometry, heights []float64) []byte {
	dst = appendShape(dst, shape)
	for _, z := range heights {
		if !math.IsNaN(z) {
			return appendHeights(append(dst, 1), heights)
		}
	}
	return append(dst, 0)
}

func appendHeights(dst []byte, heights []float64) []byte {
	for _, z := range heights {
		dst = binary.BigEndian.AppendUint64(dst, canonicalBits(z))
	}
	return dst
}

func appendShape(dst []byte, shape orb.Geometry) []byte {
	switch shape := shape.(type) {
	case nil:
		return append(dst, 0)
	case orb.Point:
		return appendPosition(append(dst, tagPoint), shape)
	case orb.MultiPoint:
		return appendPositions(append(dst, tagMultiPoint), shape)
	case orb.LineString:
		return appendPositions(append(dst, tagLineString), shape)
	case orb.MultiLineString:
		dst = binary.AppendUvarint(append(dst, tagMultiLineString), uint64(len(shape)))
		for _, line := range shape {
			dst = appendPositions(dst, line)
		}
		return dst
	case orb.Polygon:
		return appendRings(append(dst, tagPolygon), shape)
	case orb.MultiPolygon:
		dst = binary.AppendUvarint(append(dst, tagMultiPolygon), uint64(len(shape)))
		for _, polygon := range shape {
			dst = appendRings(dst, polygon)
		}
		return dst
	case orb.Collection:
		dst = binary.AppendUvarint(append(dst, tagCollection), uint64(len(shape)))
		for _, member := range shape {
			dst = appendShape(dst, member)
		}
		return dst
	}
	return append(dst, tagUnknown)
}

func appendRings(dst []byte, polygon orb.Polygon) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(polygon)))
	for _, ring := range polygon {
		dst = appendPositions(dst, ring)
	}
	return dst
}

func appendPositions(dst []byte, points []orb.Point) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(points)))
	for _, p := range points {
		dst = appendPosition(dst, p)
	}
	return dst
}

func appendPosition(dst []byte, p orb.Point) []byte {
	dst = binary.BigEndian.AppendUint64(dst, canonicalBits(p[0]))
	return binary.BigEndian.AppendUint64(dst, canonicalBits(p[1]))
}

// canonicalBits returns the bits of a double, with one form for zero and one for NaN.
func canonicalBits(x float64) uint64 {
	switch {
	case x == 0:
		return 0
	case x != x:
		return 0x7ff8 << 48
	}
	return math.Float64bits(x)
}
