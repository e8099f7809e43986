package transform

import (
	"bytes"
	"slices"

	"github.com/switchback-geo/switchback/pkg/transform/internal/numbers"
)

// The members that a Feature or a geometry may have on the quick way, each once.
const (
	hasType = 1 << iota
	hasID
	hasBBox
	hasGeometry
	hasProperties
)

// plainWord reads a string without escapes, such as the name of a GeoJSON member.
func (q *quickScan) plainWord() []byte {
	if q.next() != '"' {
		return nil
	}
	begin := q.at + 1
	n := bytes.IndexByte(q.src[begin:], '"')
	if n < 0 {
		return nil
	}
	q.at = begin + n + 1
	return q.src[begin : begin+n]
}

// feature reads a Feature that has type, geometry and properties, and optionally an ID and a bbox.
func (q *quickScan) feature(f *Feature) bool {
	if !q.open('{') {
		return false
	}
	had := 0
	for first := true; ; first = false {
		more, ok := q.more('}', first)
		if !ok {
			return false
		}
		if !more {
			const needed = hasType | hasGeometry | hasProperties
			return had&needed == needed
		}
		name := q.plainWord()
		if !q.take(':') {
			return false
		}
		has, ok := q.featureMember(f, name)
		if !ok || had&has != 0 {
			return false
		}
		had |= has
	}
}

// featureMember reads one member after its name, and reports which one.
func (q *quickScan) featureMember(f *Feature, name []byte) (has int, ok bool) {
	switch string(name) {
	case "type":
		return hasType, string(q.plainWord()) == "Feature"
	case "id":
		f.ID, ok = q.id()
		return hasID, ok
	case "bbox":
		f.BBox, ok = q.bbox()
		return hasBBox, ok
	case "geometry":
		return hasGeometry, q.geometry(f)
	case "properties":
		f.Properties, ok = q.properties()
		return hasProperties, ok
	}
	return 0, false
}

// id reads a string without escapes, or a number.
func (q *quickScan) id() (Value, bool) {
	c := q.next()
	begin := q.at
	switch {
	case c == '"':
		word := q.plainWord()
		if word == nil || bytes.IndexByte(word, '\\') >= 0 {
			return Value{}, false
		}
	case c == '-' || c-'0' <= 9:
		if !q.number() {
			return Value{}, false
		}
	default:
		return Value{}, false
	}
	end := q.at
	q.at = begin
	q.keep(end)
	return q.value()
}

// properties reads an object. It allocates as many members as the previous feature had, because the features of a source
// are alike.
func (q *quickScan) properties() ([]Member, bool) {
	if q.next() != '{' {
		return nil, false
	}
	q.keep(len(q.src))
	q.open('{')
	const shortest = len(`"":0,`)
	members := make([]Member, 0, min(q.usual, (len(q.src)-q.at)/shortest))
	names := len(q.names)
	for first := true; ; first = false {
		more, ok := q.more('}', first)
		if !ok {
			return nil, false
		}
		if !more {
			q.names, q.usual = q.names[:names], len(members)
			return slices.Clip(members), true
		}
		member, ok := q.member(names)
		if !ok {
			return nil, false
		}
		members = append(members, member)
	}
}

// bbox reads 4 or 6 short numbers.
func (q *quickScan) bbox() ([]float64, bool) {
	if !q.open('[') {
		return nil, false
	}
	bbox := make([]float64, 0, 6)
	for first := true; len(bbox) <= 6; first = false {
		more, ok := q.more(']', first)
		if !ok {
			return nil, false
		}
		if !more {
			return bbox, len(bbox) == 4 || len(bbox) == 6
		}
		q.next()
		ordinate, rest, ok := numbers.ScanShort(q.src[q.at:])
		if !ok {
			return nil, false
		}
		bbox = append(bbox, ordinate)
		q.at = len(q.src) - len(rest)
	}
	return nil, false
}

// geometry reads a geometry with only type and coordinates.
func (q *quickScan) geometry(f *Feature) bool {
	q.coordinates.clear()
	if !q.open('{') {
		return false
	}
	var g geometryObject
	for first := true; ; first = false {
		more, ok := q.more('}', first)
		if !ok {
			return false
		}
		if !more {
			break
		}
		name := q.plainWord()
		if !q.take(':') || !q.geometryMember(&g, name) {
			return false
		}
	}
	if g.kind == "" || !g.coordinates {
		return false
	}
	shape, err := q.assemble(&g)
	if err != nil {
		return false
	}
	f.Geometry = Geometry{Shape: shape, Z: q.heights()}
	return true
}

// geometryMember reads the type or the coordinates, each once.
func (q *quickScan) geometryMember(g *geometryObject, name []byte) bool {
	switch string(name) {
	case "type":
		if g.kind != "" {
			return false
		}
		g.kind = simpleType(q.plainWord())
		return g.kind != ""
	case "coordinates":
		if g.coordinates || q.depth < maxLevels {
			return false
		}
		g.coordinates = true
		s := coordinateScan{decoder: q.decoder, cursor: q.cursor}
		if !s.array(1) {
			return false
		}
		q.at = s.at
		return true
	}
	return false
}

// simpleType returns the type of a geometry that has coordinates, or "".
func simpleType(word []byte) GeometryType {
	for _, kind := range [...]GeometryType{Point, MultiPoint, LineString, MultiLineString, Polygon, MultiPolygon} {
		if string(word) == string(kind) {
			return kind
		}
	}
	return ""
}
