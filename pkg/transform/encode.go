package transform

import (
	"math"
	"slices"

	"github.com/paulmach/orb"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/geometry"
	"github.com/switchback-geo/switchback/pkg/transform/internal/numbers"
)

// Encode writes a feature as compact GeoJSON (RFC 7946). The text is stable: a feature has one text, and the feature
// decoded from it has the same text. The members are type, id, crs (of GeoJSON 2008, if the system is not WGS 84), bbox,
// geometry, properties and the foreign members; id and bbox are left out if there are none. Properties and foreign
// members keep their order. Coordinates are written in the shortest form that reads back as the same double, and other
// numbers with their original digits.
//
// The errors are [*Error] of the encode stage: a geometry, set by hand, that RFC 7946 cannot represent, or a text that
// exceeds [Limits.MaxOutputBytes].
func (t *Transformer) Encode(f *Feature) ([]byte, error) {
	buffer, _ := t.texts.Get().(*[]byte)
	if buffer == nil {
		buffer = new([]byte)
	}
	text, err := t.appendFeature((*buffer)[:0], f)
	out := append([]byte(nil), text...) // no longer than necessary, because it lives until it is delivered
	if cap(text) <= maxText {
		*buffer = text
		t.texts.Put(buffer)
	}
	return out, err
}

// maxText is the capacity that a buffer for texts keeps between two features.
const maxText = 1 << 20

// appendFeature appends the text of a feature; it returns nil with an error.
func (t *Transformer) appendFeature(dst []byte, f *Feature) ([]byte, error) {
	e := encoder{out: slices.Grow(dst, sizeOf(f)), z: f.Geometry.Z}
	e.out = append(e.out, `{"type":"Feature"`...)
	if !f.ID.IsNull() {
		e.out = f.ID.AppendJSON(append(e.out, `,"id":`...))
	}
	if f.CRS != "" {
		e.out = append(e.out, `,"crs":{"type":"name","properties":{"name":`...)
		e.out = append(appendString(e.out, f.CRS), `}}`...)
	}
	if f.BBox != nil {
		e.out = append(e.out, `,"bbox":`...)
		e.numbers(f.BBox...)
	}
	e.out = append(e.out, `,"geometry":`...)
	e.geometry(f.Geometry.Shape)
	e.out = append(e.out, `,"properties":`...)
	if f.Properties == nil {
		e.out = append(e.out, "null"...)
	} else {
		e.out = appendMembers(e.out, f.Properties)
	}
	for i := range f.Foreign {
		e.out = appendString(append(e.out, ','), f.Foreign[i].Name)
		e.out = f.Foreign[i].Value.AppendJSON(append(e.out, ':'))
	}
	if e.broken != "" {
		return nil, &Error{Code: classify.CodeGeometryStructure, Stage: classify.StageEncode, Rule: string(e.broken), Path: "/geometry",
			Feature: f.IDString(), Message: e.message, Fix: "set a geometry of RFC 7946, with finite ordinates and one height for each position"}
	}
	if e.out = append(e.out, '}'); len(e.out) > t.config.Limits.MaxOutputBytes {
		return nil, &Error{Code: classify.CodeLimitExceeded, Stage: classify.StageEncode, Rule: string(RuleOutputBytes), Feature: f.IDString(),
			Message: "the feature that would be written has " + decimal(len(e.out)) + " bytes, more than limits.max_output_bytes allows",
			Fix:     "simplify or split the feature, or raise limits.max_output_bytes"}
	}
	return e.out, nil
}

// sizeOf estimates the length of a feature's text.
func sizeOf(f *Feature) int { return 192 + 28*f.Geometry.Positions() + 40*len(f.Properties) }

// encoder appends the parts of a feature and records the first value that has no GeoJSON form.
type encoder struct {
	out     []byte
	z       []float64 // heights of the positions that are still to be written
	broken  Rule
	message string
}

func (e *encoder) breakWith(rule Rule, message string) {
	if e.broken == "" {
		e.broken, e.message = rule, message
	}
}

// geometry appends a geometry object, or null.
func (e *encoder) geometry(shape orb.Geometry) {
	if shape == nil {
		e.out = append(e.out, "null"...)
		return
	}
	kind := typeOf(shape)
	if kind == "" {
		e.breakWith(RuleTypeWord, "the geometry is of no type of RFC 7946")
	}
	e.out = append(append(e.out, `{"type":"`...), kind...)
	if kind == GeometryCollection {
		e.out = append(e.out, `","geometries":`...)
	} else {
		e.out = append(e.out, `","coordinates":`...)
	}
	e.coordinates(shape)
	e.out = append(e.out, '}')
}

// coordinates appends the coordinates of a shape, or its geometries.
func (e *encoder) coordinates(shape orb.Geometry) {
	switch shape := shape.(type) {
	case orb.Point:
		if geometry.IsEmptyPoint(shape) {
			e.out = append(e.out, "[]"...)
			return
		}
		e.positions([]orb.Point{shape})
	case orb.MultiPoint:
		e.line(shape)
	case orb.LineString:
		e.line(shape)
	case orb.MultiLineString:
		appendArray(e, shape, func(e *encoder, line orb.LineString) { e.line(line) })
	case orb.Polygon:
		e.rings(shape)
	case orb.MultiPolygon:
		appendArray(e, shape, (*encoder).rings)
	case orb.Collection:
		appendArray(e, shape, (*encoder).geometry)
	}
}

func (e *encoder) rings(polygon orb.Polygon) {
	appendArray(e, polygon, func(e *encoder, ring orb.Ring) { e.line(ring) })
}

// line appends an array of positions.
func (e *encoder) line(points []orb.Point) {
	e.out = append(e.out, '[')
	e.positions(points)
	e.out = append(e.out, ']')
}

// positions appends positions with commas between them, each with its height if it has one.
func (e *encoder) positions(points []orb.Point) {
	dst := e.out
	for i, p := range points {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = e.appendNumber(append(dst, '['), p[0])
		dst = e.appendNumber(append(dst, ','), p[1])
		if e.z != nil {
			if len(e.z) == 0 {
				e.breakWith(RulePositionSize, "there are fewer heights than positions")
				break
			}
			if z := e.z[0]; !math.IsNaN(z) {
				dst = e.appendNumber(append(dst, ','), z)
			}
			e.z = e.z[1:]
		}
		dst = append(dst, ']')
	}
	e.out = dst
}

// numbers appends an array of numbers.
func (e *encoder) numbers(numbers ...float64) {
	e.out = append(e.out, '[')
	for i, n := range numbers {
		if i > 0 {
			e.out = append(e.out, ',')
		}
		e.number(n)
	}
	e.out = append(e.out, ']')
}

func (e *encoder) number(n float64) { e.out = e.appendNumber(e.out, n) }

// appendNumber appends a number, and records a number that has no GeoJSON form.
func (e *encoder) appendNumber(dst []byte, n float64) []byte {
	if short, ok := numbers.AppendShort(dst, n); ok {
		return short
	}
	if math.IsNaN(n) || math.IsInf(n, 0) {
		e.breakWith(RuleNotFinite, "an ordinate is not finite")
		return dst
	}
	return numbers.AppendFloat(dst, n)
}

// appendArray appends a JSON array. each appends one element.
func appendArray[T any](e *encoder, elements []T, each func(*encoder, T)) {
	e.out = append(e.out, '[')
	for i, element := range elements {
		if i > 0 {
			e.out = append(e.out, ',')
		}
		each(e, element)
	}
	e.out = append(e.out, ']')
}
