package geometry

import (
	"strconv"
	"strings"

	"github.com/paulmach/orb"
)

// kind is a type by its code in OGC 06-103r4, table 6, below the thousands.
type kind uint32

// The seven types that GeoJSON has.
const (
	kindPoint           kind = 1
	kindLineString      kind = 2
	kindPolygon         kind = 3
	kindMultiPoint      kind = 4
	kindMultiLineString kind = 5
	kindMultiPolygon    kind = 6
	kindCollection      kind = 7
)

// wordCount is the number of types in the standard.
const wordCount = 18

// words are the names of all types of the standard, by their codes. The unsupported ones are known so that an error can
// name them.
func words() [wordCount]string {
	return [...]string{
		"GEOMETRY", "POINT", "LINESTRING", "POLYGON", "MULTIPOINT", "MULTILINESTRING", "MULTIPOLYGON", "GEOMETRYCOLLECTION",
		"CIRCULARSTRING", "COMPOUNDCURVE", "CURVEPOLYGON", "MULTICURVE", "MULTISURFACE", "CURVE", "SURFACE", "POLYHEDRALSURFACE",
		"TIN", "TRIANGLE",
	}
}

func (k kind) word() string {
	if all := words(); int(k) < len(all) {
		return all[k]
	}
	return "type " + strconv.FormatUint(uint64(k), 10)
}

func (k kind) known() bool     { return k < wordCount }
func (k kind) supported() bool { return kindPoint <= k && k <= kindCollection }

// member returns the type of the members of a multi type.
func (k kind) member() kind { return k - kindMultiPoint + kindPoint }

// kindNamed finds a type by its word, in any case.
func kindNamed(word string) (kind, bool) {
	for i, known := range words() {
		if strings.EqualFold(word, known) {
			return kind(i), true
		}
	}
	return 0, false
}

// kindOf returns the type of a shape; 0 for none of the seven.
func kindOf(shape orb.Geometry) kind {
	switch shape.(type) {
	case orb.Point:
		return kindPoint
	case orb.LineString:
		return kindLineString
	case orb.Polygon:
		return kindPolygon
	case orb.MultiPoint:
		return kindMultiPoint
	case orb.MultiLineString:
		return kindMultiLineString
	case orb.MultiPolygon:
		return kindMultiPolygon
	case orb.Collection:
		return kindCollection
	}
	return 0
}

func decimal(n int) string { return strconv.Itoa(n) }
