package transform

// feature reads a Feature that has the four members of RFC 7946, and a bbox or
// none.
func (q *quickScan) feature(f *Feature) bool {
	if !q.open('{') {
		return false
	}
	begin := len(q.names)
	var seen seenMembers
	for first := true; ; first = false {
		more, ok := q.more('}', first)
		if !ok {
			return false
		}
		if !more {
			q.names = q.names[:begin]
			return seen == seenMembers{kind: true, geometry: true, properties: true}
		}
		name, ok := q.name(begin)
		if !ok || !q.member(f, name, &seen) {
			return false
		}
	}
}

// member reads one member of the feature.
func (q *quickScan) member(f *Feature, name string, seen *seenMembers) (ok bool) {
	switch name {
	case "type":
		seen.kind = true
		return q.next() == '"' && q.word(`"Feature"`)
	case "id":
		if c := q.next(); c != '"' && c != '-' && c-'0' > 9 {
			return false
		}
		f.ID, ok = q.value()
		return ok
	case "bbox":
		f.BBox, ok = q.bbox()
		return ok
	case "geometry":
		seen.geometry = true
		return q.geometry(f)
	case "properties":
		seen.properties = true
		f.Properties, ok = q.object()
		return ok
	}
	return false
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
		ordinate, rest, ok := scanShort(q.src[q.at:])
		if !ok {
			return nil, false
		}
		bbox = append(bbox, ordinate)
		q.at = len(q.src) - len(rest)
	}
	return nil, false
}

// geometry reads a geometry with coordinates, and nothing else in it.
func (q *quickScan) geometry(f *Feature) bool {
	q.coordinates.clear()
	if q.next(); !q.open('{') {
		return false
	}
	var g geometryObject
	begin := len(q.names)
	for first := true; ; first = false {
		more, ok := q.more('}', first)
		if !ok {
			return false
		}
		if !more {
			break
		}
		name, ok := q.name(begin)
		if !ok || !q.geometryMember(&g, name) {
			return false
		}
	}
	q.names = q.names[:begin]
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

// geometryMember reads the type or the coordinates.
func (q *quickScan) geometryMember(g *geometryObject, name string) bool {
	switch name {
	case "type":
		word, ok := q.str()
		g.kind = GeometryType(word)
		return ok && isGeometryType(word) && g.kind != GeometryCollection
	case "coordinates":
		g.coordinates = true
		if q.depth < maxLevels {
			return false
		}
		s := fastScan{decoder: q.decoder, text: q.src, at: q.at}
		if s.peekByte(); !s.array(1) {
			return false
		}
		q.at = s.at
		return true
	}
	return false
}
