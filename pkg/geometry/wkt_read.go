package geometry

import (
	"math"
	"strconv"
	"strings"

	"github.com/paulmach/orb"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/internal/shorten"
)

// textReader reads well-known text.
type textReader struct {
	textScanner
}

// tagged is the tag at the beginning of a geometry.
type tagged struct {
	start int
	kind  kind
	dims  dimensions
	given bool // dims is known from a tag or from the first position
}

func decodeText(format Format, text []byte, limits Limits) (Geometry, error) {
	r := textReader{textScanner{text: text, collector: collector{format: format, code: classify.CodeWKTMalformed, limits: limits}}}
	srid, err := r.spatialReference()
	if err != nil {
		return Geometry{}, err
	}
	shape, err := r.geometry(0)
	if err != nil {
		return Geometry{}, err
	}
	if r.space(); r.at < len(text) {
		e := r.fault(r.code, RuleTrailing, r.at, "something follows the geometry", "send one geometry")
		e.Value = shorten.Text(text[r.at:])
		return Geometry{}, e
	}
	return Geometry{Shape: shape, Z: r.heights(), SRID: srid}, nil
}

// spatialReference reads "SRID=4326;".
func (r *textReader) spatialReference() (int32, error) {
	start := r.at
	if !r.word("srid") {
		return 0, nil
	}
	if r.format == WKT {
		return 0, r.fault(r.code, RuleDialect, start, "SRID= is of EWKT, the dialect of PostGIS", "name the format ewkt")
	}
	if err := r.demand('='); err != nil {
		return 0, err
	}
	end := r.at
	for end < len(r.text) && '0' <= r.text[end] && r.text[end] <= '9' {
		end++
	}
	srid, err := strconv.ParseInt(string(r.text[r.at:min(end, r.at+shorten.MaxCharacters)]), 10, 32)
	if err != nil {
		return 0, r.fault(r.code, RuleSRID, r.at, "the SRID is not a number of 31 bits", "write one such as SRID=4326;")
	}
	r.at = end
	return int32(srid), r.demand(';') //nolint:gosec // ParseInt was asked for 32 bits
}

// geometry reads one tagged geometry.
func (r *textReader) geometry(depth int) (orb.Geometry, error) {
	t, err := r.tag()
	if err != nil {
		return nil, err
	}
	if t.kind == kindCollection && depth > r.limits.MaxDepth {
		return nil, r.tooDeep(t.start)
	}
	if r.word("empty") {
		return r.empty(t)
	}
	switch t.kind {
	case kindPoint:
		if err := r.demand('('); err != nil {
			return nil, err
		}
		p, err := r.position(&t)
		if err != nil {
			return nil, err
		}
		return p, r.demand(')')
	case kindLineString:
		return r.lineString(&t)
	case kindPolygon:
		return r.polygon(&t)
	case kindMultiPoint:
		points, err := listOf(r, func() (orb.Point, error) { return r.multiPointMember(&t) })
		return orb.MultiPoint(points), err
	case kindMultiLineString:
		lines, err := listOf(r, func() (orb.LineString, error) {
			return counted(r, func() (orb.LineString, error) { return r.lineString(&t) })
		})
		return orb.MultiLineString(lines), err
	case kindMultiPolygon:
		polygons, err := listOf(r, func() (orb.Polygon, error) { return counted(r, func() (orb.Polygon, error) { return r.polygon(&t) }) })
		return orb.MultiPolygon(polygons), err
	default:
		members, err := listOf(r, func() (orb.Geometry, error) {
			return counted(r, func() (orb.Geometry, error) { return r.geometry(depth + 1) })
		})
		return orb.Collection(members), err
	}
}

// tag reads the word of a type and of its ordinates: "POINT ZM". The extended
// dialect also writes them as one word: "POINTZM".
func (r *textReader) tag() (tagged, error) {
	word := r.peekWord()
	t := tagged{start: r.at}
	k, known := kindNamed(word)
	glued := word
	if !known && r.format == EWKT {
		glued = strings.TrimRight(word, "zmZM")
		k, known = kindNamed(glued)
	}
	switch {
	case !known || k == 0:
		return t, r.unexpected("the word of a geometry")
	case !k.supported():
		return t, r.fault(classify.CodeUnsupportedGeometry, RuleUnsupported, t.start, "a "+k.word()+" has no form in GeoJSON",
			"convert it to one of the seven types of RFC 7946, such as with ST_CurveToLine")
	}
	t.kind = k
	r.at += len(glued)
	for _, d := range []dimensions{{z: true, m: true}, {z: true}, {m: true}} {
		if r.word(d.word()) {
			t.dims, t.given = d, true
			break
		}
	}
	if r.format == WKT { // without a word there are two ordinates
		t.given = true
	}
	return t, r.measures(t.dims, t.start)
}

// empty returns an empty geometry.
func (r *textReader) empty(t tagged) (orb.Geometry, error) {
	switch t.kind {
	case kindPoint:
		return r.emptyPosition()
	case kindLineString:
		return orb.LineString{}, nil
	case kindPolygon:
		return orb.Polygon{}, nil
	case kindMultiPoint:
		return orb.MultiPoint{}, nil
	case kindMultiLineString:
		return orb.MultiLineString{}, nil
	case kindMultiPolygon:
		return orb.MultiPolygon{}, nil
	default:
		return orb.Collection{}, nil
	}
}

func (r *textReader) emptyPosition() (orb.Point, error) {
	if err := r.room(1, r.at); err != nil {
		return orb.Point{}, err
	}
	return r.keep(math.NaN(), math.NaN(), math.NaN(), true, r.at)
}

func (r *textReader) lineString(t *tagged) (orb.LineString, error) {
	at := r.at
	if r.word("empty") {
		return orb.LineString{}, nil
	}
	points, err := listOf(r, func() (orb.Point, error) { return r.position(t) })
	if err != nil {
		return nil, err
	}
	return points, r.line(points, at)
}

func (r *textReader) polygon(t *tagged) (orb.Polygon, error) {
	if r.word("empty") {
		return orb.Polygon{}, nil
	}
	return listOf(r, func() (orb.Ring, error) {
		return counted(r, func() (orb.Ring, error) {
			at := r.at
			points, err := listOf(r, func() (orb.Point, error) { return r.position(t) })
			if err != nil {
				return nil, err
			}
			return points, r.ring(points, at)
		})
	})
}

// multiPointMember reads "(1 2)", or "1 2" as older writers write it.
func (r *textReader) multiPointMember(t *tagged) (orb.Point, error) {
	if r.word("empty") {
		return r.emptyPosition()
	}
	if !r.sign('(') {
		return r.position(t)
	}
	p, err := r.position(t)
	if err != nil {
		return p, err
	}
	return p, r.demand(')')
}

// position reads the ordinates of one position. In the extended dialect the first one determines their number, unless a
// tag did.
func (r *textReader) position(t *tagged) (orb.Point, error) {
	r.space()
	at := r.at
	if err := r.room(1, at); err != nil {
		return orb.Point{}, err
	}
	x, err := r.number()
	if err != nil {
		return orb.Point{}, err
	}
	y, err := r.separated(r.number)
	if err != nil {
		return orb.Point{}, err
	}
	if !t.given {
		if err := r.impliedDimensions(t); err != nil {
			return orb.Point{}, err
		}
	}
	z := math.NaN()
	if t.dims.z {
		if z, err = r.separated(r.height); err != nil {
			return orb.Point{}, err
		}
	}
	if t.dims.m {
		if _, err := r.separated(r.height); err != nil {
			return orb.Point{}, err
		}
	}
	if !r.atEndOfPosition() {
		e := r.fault(r.code, RuleDimensions, at, "a position has another number of ordinates than its geometry", "write "+
			decimal(t.dims.ordinates())+" numbers, or tag the geometry with Z")
		e.Value = shorten.Text(r.text[at:])
		return orb.Point{}, e
	}
	return r.keep(x, y, z, false, at)
}

// impliedDimensions looks ahead: three ordinates are Z, four are ZM.
func (r *textReader) impliedDimensions(t *tagged) error {
	ahead := r.textScanner
	n := 2
	for ; n < 4 && !ahead.atEndOfPosition(); n++ {
		if _, err := ahead.height(); err != nil {
			return err
		}
	}
	t.dims, t.given = dimensions{z: n > 2, m: n > 3}, true
	return r.measures(t.dims, t.start)
}

func (s *textScanner) atEndOfPosition() bool {
	s.space()
	return s.at < len(s.text) && (s.text[s.at] == ',' || s.text[s.at] == ')')
}

// separated reads a number that white space separates from the previous one: "1-2" is not a position.
func (r *textReader) separated(read func() (float64, error)) (float64, error) {
	if at := r.at; r.at < len(r.text) {
		if r.space(); r.at == at {
			return 0, r.unexpected("white space")
		}
	}
	return read()
}

// counted counts a part and reads it.
func counted[T any](r *textReader, read func() (T, error)) (T, error) {
	if err := r.part(r.at); err != nil {
		var none T
		return none, err
	}
	return read()
}

// listOf reads "(a, b)".
func listOf[T any](r *textReader, element func() (T, error)) ([]T, error) {
	if err := r.demand('('); err != nil {
		return nil, err
	}
	var list []T
	for {
		one, err := element()
		if err != nil {
			return nil, err
		}
		list = append(list, one)
		if r.sign(')') {
			return list, nil
		}
		if !r.sign(',') {
			return nil, r.unexpected("',' or ')'")
		}
	}
}
