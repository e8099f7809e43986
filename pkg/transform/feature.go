package transform

import (
	"strings"

	"github.com/paulmach/orb"
	"github.com/switchback-geo/switchback/pkg/geometry"
	"github.com/switchback-geo/switchback/pkg/transform/internal/numbers"
)

// Feature is one decoded GeoJSON Feature (RFC 7946 section 3.2). A [Transformer] creates it. Several goroutines may read
// it; only one may change it.
type Feature struct {
	// ID is the source's ID: a string, a number with its digits as written, or null if there is none.
	ID Value

	// BBox is the feature's bbox as it was given, 4 or 6 numbers, or nil.
	BBox []float64

	// Geometry is the feature's geometry; see [Geometry.IsNull].
	Geometry Geometry

	// Properties are the properties in their order; nil when they are null.
	Properties []Member

	// Foreign are the members that RFC 7946 does not define (section 6.1), in their order.
	Foreign []Member

	// Violation is the rule that the geometry of a mapped feature breaks, if `validity: flag` or `output_validity: flag`
	// let it pass.
	Violation *Violation

	// CRS is the short name of the system of the coordinates if it is not WGS 84. [Transformer.Map] sets it;
	// [Transformer.Encode] writes it.
	CRS string

	crs            []string // names in crs members (GeoJSON 2008); Gate checks them
	geometryMember string   // the first foreign member of the geometry, which is dropped; Gate checks it
}

// Geometry is a geometry in the plane, with its heights beside it.
type Geometry struct {
	// Shape has the longitudes and latitudes. It is nil for a null geometry, and otherwise one of orb.Point,
	// orb.MultiPoint, orb.LineString, orb.MultiLineString, orb.Polygon, orb.MultiPolygon, orb.Collection.
	Shape orb.Geometry

	// Z has the third ordinate of every position in writing order, because orb has only two ordinates. It is NaN for a
	// position without one, and nil if no position has one.
	Z []float64
}

// IsNull reports whether the feature has no geometry, which is legal.
func (g Geometry) IsNull() bool { return g.Shape == nil }

// Type returns the geometry's type, or "" for a null geometry.
func (g Geometry) Type() GeometryType { return typeOf(g.Shape) }

// typeOf returns the name of an orb type in RFC 7946.
func typeOf(shape orb.Geometry) GeometryType {
	switch shape.(type) {
	case orb.Point:
		return Point
	case orb.MultiPoint:
		return MultiPoint
	case orb.LineString:
		return LineString
	case orb.MultiLineString:
		return MultiLineString
	case orb.Polygon:
		return Polygon
	case orb.MultiPolygon:
		return MultiPolygon
	case orb.Collection:
		return GeometryCollection
	}
	return ""
}

// Positions returns the number of positions.
func (g Geometry) Positions() int {
	return geometry.Positions(g.Shape)
}

// IDString returns the source ID as text, or "" if there is none. A number has one text however it is written: 1, 1.0
// and 1e0 are "1", and -0 is "0".
func (f *Feature) IDString() string {
	text := f.ID.Text()
	if f.ID.Kind() != KindNumber {
		return text
	}
	if strings.ContainsAny(text, ".eE") {
		plain, ok := toDecimal(f.ID)
		if !ok {
			return text
		}
		if text = plain.Text(); strings.Contains(text, ".") {
			text = strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
		}
	}
	if text == "-0" {
		return "0"
	}
	return text
}

// BBoxString returns "minx,miny,maxx,maxy": the bounds of the geometry, or the feature's own bbox if it has no geometry,
// or "". Its numbers are in their shortest form. A geometry that crosses the antimeridian uncut has the bounds of its
// numbers, because RFC 7946 asks to cut it.
func (f *Feature) BBoxString() string {
	low, high, found := geometry.Bounds(f.Geometry.Shape)
	if !found {
		switch len(f.BBox) {
		case 4:
			low, high = orb.Point{f.BBox[0], f.BBox[1]}, orb.Point{f.BBox[2], f.BBox[3]}
		case 6:
			low, high = orb.Point{f.BBox[0], f.BBox[1]}, orb.Point{f.BBox[3], f.BBox[4]}
		default:
			return ""
		}
	}
	var buffer [4 * 24]byte
	text := numbers.AppendFloat(buffer[:0], low[0])
	for _, ordinate := range [...]float64{low[1], high[0], high[1]} {
		text = numbers.AppendFloat(append(text, ','), ordinate)
	}
	return string(text)
}

// Property returns a property by its exact name, or by a dotted path into nested objects and arrays:
// "owner.address.city", "tags.0".
func (f *Feature) Property(path string) (Value, bool) {
	if found := lookup(f.Properties, path, "."); found != nil {
		return *found, true
	}
	return Value{}, false
}

// SetProperty replaces a property in its position, or at the end if it is new. The name is taken literally, including
// dots.
func (f *Feature) SetProperty(name string, v Value) {
	name = validUTF8(name)
	for i := range f.Properties {
		if f.Properties[i].Name == name {
			f.Properties[i].Value = v
			return
		}
	}
	f.Properties = append(f.Properties, Member{name, v})
}

// lookup finds a value by its exact name, or else by a path whose segments are joined by separator. A segment may itself
// contain the separator: lookup tries every way to cut the path, the shortest first segment first. It returns nil if
// there is none.
func lookup(members []Member, path, separator string) *Value {
	for i := range members {
		if members[i].Name == path {
			return &members[i].Value
		}
	}
	for from := 0; ; {
		i := strings.Index(path[from:], separator)
		if i < 0 || separator == "" {
			return nil
		}
		head, rest := path[:from+i], path[from+i+len(separator):]
		from += i + len(separator)
		for j := range members {
			if members[j].Name != head {
				continue
			}
			if found := within(&members[j].Value, rest, separator); found != nil {
				return found
			}
		}
	}
}

// within finds a path below a value.
func within(v *Value, path, separator string) *Value {
	switch v.token {
	case '{':
		return lookup(v.container.members, path, separator)
	case '[':
		head, rest, more := strings.Cut(path, separator)
		for i := range v.container.items {
			if decimal(i) != head {
				continue
			}
			if !more {
				return &v.container.items[i]
			}
			return within(&v.container.items[i], rest, separator)
		}
	}
	return nil
}
