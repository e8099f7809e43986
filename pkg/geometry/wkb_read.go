package geometry

import (
	"encoding/binary"
	"math"
	"strconv"

	"github.com/paulmach/orb"
	"github.com/switchback-geo/switchback/pkg/classify"
)

// The flags of a type code in EWKB (PostGIS, liblwgeom.h).
const (
	flagZ    = 0x80000000
	flagM    = 0x40000000
	flagSRID = 0x20000000
)

// binaryReader reads WKB and EWKB.
type binaryReader struct {
	collector
	data []byte
	at   int
	srid int32
}

// header precedes the elements of a geometry.
type header struct {
	start int
	order binary.ByteOrder
	kind  kind
	dims  dimensions
}

func decodeBinary(format Format, data []byte, limits Limits) (Geometry, error) {
	r := binaryReader{data: data, collector: collector{format: format, code: classify.CodeWKBMalformed, limits: limits}}
	shape, err := r.geometry(0, 0)
	if err != nil {
		return Geometry{}, err
	}
	if r.at < len(data) {
		return Geometry{}, r.malformed(RuleTrailing, r.at, decimal(len(data)-r.at)+" bytes follow the geometry", "send one geometry")
	}
	return Geometry{Shape: shape, Z: r.heights(), SRID: r.srid}, nil
}

// malformed returns a syntax error.
func (r *binaryReader) malformed(rule Rule, at int, message, fix string) *Error {
	return r.fault(r.code, rule, at, message, fix)
}

// geometry reads one geometry. want is its type, or 0 for any.
func (r *binaryReader) geometry(want kind, depth int) (orb.Geometry, error) {
	h, err := r.header()
	if err != nil {
		return nil, err
	}
	if want != 0 && h.kind != want {
		return nil, r.malformed(RuleTypeCode, h.start, h.kind.word()+" is where "+want.word()+" must be", "check the writer")
	}
	switch h.kind {
	case kindPoint:
		if err := r.room(1, r.at); err != nil {
			return nil, err
		}
		return r.position(h, true)
	case kindLineString:
		return r.lineString(h)
	case kindPolygon:
		return r.polygon(h)
	case kindCollection:
		if depth > r.limits.MaxDepth {
			return nil, r.tooDeep(h.start)
		}
		return r.collection(h, depth)
	default:
		return r.multi(h)
	}
}

// header reads byte order, type and SRID.
func (r *binaryReader) header() (header, error) {
	h := header{start: r.at}
	if err := r.need(1); err != nil {
		return h, err
	}
	switch r.data[r.at] {
	case 0:
		h.order = binary.BigEndian
	case 1:
		h.order = binary.LittleEndian
	default:
		return h, r.malformed(RuleByteOrder, r.at, "the byte order is "+decimal(int(r.data[r.at]))+", neither 0 nor 1",
			"is this "+string(r.format.dialect())+", and not text, hexadecimal or base64?")
	}
	r.at++
	code, err := r.uint32(h.order)
	if err != nil {
		return h, err
	}
	if err := r.typeCode(&h, code); err != nil {
		return h, err
	}
	if code&flagSRID != 0 && r.format.dialect() == EWKB {
		if err := r.spatialReference(h); err != nil {
			return h, err
		}
	}
	return h, r.measures(h.dims, h.start)
}

// typeCode splits a type code.
func (r *binaryReader) typeCode(h *header, code uint32) error {
	flags := code & (flagZ | flagM | flagSRID)
	if flags != 0 && r.format.dialect() == WKB {
		return r.malformed(RuleDialect, h.start, "the type code 0x"+strconv.FormatUint(uint64(code), 16)+" has flags of EWKB, the dialect of PostGIS",
			"name an ewkb format")
	}
	rest := code &^ (flagZ | flagM | flagSRID)
	thousands := rest / 1000
	h.kind = kind(rest % 1000)
	h.dims = dimensions{z: flags&flagZ != 0 || thousands == 1 || thousands == 3, m: flags&flagM != 0 || thousands >= 2}
	switch {
	case thousands > 3 || !h.kind.known():
		return r.malformed(RuleTypeCode, h.start, "the type code 0x"+strconv.FormatUint(uint64(code), 16)+" is none of "+string(r.format.dialect()),
			"check the byte order and the dialect")
	case thousands > 0 && flags&(flagZ|flagM) != 0:
		return r.malformed(RuleDialect, h.start, "the type code 0x"+strconv.FormatUint(uint64(code), 16)+" names its ordinates twice: as WKB and as EWKB",
			"write it in one dialect")
	case !h.kind.supported():
		return r.fault(classify.CodeUnsupportedGeometry, RuleUnsupported, h.start, "a "+h.kind.word()+" has no form in GeoJSON",
			"convert it to one of the seven types of RFC 7946, such as with ST_CurveToLine")
	}
	return nil
}

// spatialReference reads the SRID of a geometry.
func (r *binaryReader) spatialReference(h header) error {
	raw, err := r.uint32(h.order)
	if err != nil {
		return err
	}
	srid := int32(raw) //nolint:gosec // the bits are the number, and the sign is checked
	switch {
	case srid < 0:
		return r.malformed(RuleSRID, h.start, "the SRID is negative", "send a positive one, or none")
	case h.start > 0 && srid != r.srid:
		return r.malformed(RuleSRID, h.start, "the parts of one geometry have different SRIDs", "give them one")
	}
	r.srid = srid
	return nil
}

func (r *binaryReader) lineString(h header) (orb.LineString, error) {
	points, err := r.points(h)
	if err != nil {
		return nil, err
	}
	return points, r.line(points, h.start)
}

func (r *binaryReader) polygon(h header) (orb.Polygon, error) {
	n, err := r.count(h.order, 4)
	if err != nil {
		return nil, err
	}
	rings := make(orb.Polygon, n)
	for i := range rings {
		at := r.at
		if err := r.part(at); err != nil {
			return nil, err
		}
		points, err := r.points(h)
		if err != nil {
			return nil, err
		}
		if err := r.ring(points, at); err != nil {
			return nil, err
		}
		rings[i] = points
	}
	return rings, nil
}

// minGeometry is the size of the smallest geometry: byte order, type, count.
const minGeometry = 9

func (r *binaryReader) collection(h header, depth int) (orb.Collection, error) {
	n, err := r.count(h.order, minGeometry)
	if err != nil {
		return nil, err
	}
	members := make(orb.Collection, n)
	for i := range members {
		if err := r.part(r.at); err != nil {
			return nil, err
		}
		if members[i], err = r.geometry(0, depth+1); err != nil {
			return nil, err
		}
	}
	return members, nil
}

// multi reads a MultiPoint, a MultiLineString or a MultiPolygon.
func (r *binaryReader) multi(h header) (orb.Geometry, error) {
	n, err := r.count(h.order, minGeometry)
	if err != nil {
		return nil, err
	}
	switch want := h.kind.member(); want {
	case kindPoint:
		points, err := members[orb.Point](r, n, want)
		return orb.MultiPoint(points), err
	case kindLineString:
		lines, err := members[orb.LineString](r, n, want)
		return orb.MultiLineString(lines), err
	default:
		polygons, err := members[orb.Polygon](r, n, want)
		return orb.MultiPolygon(polygons), err
	}
}

// members reads n geometries of one type.
func members[T orb.Geometry](r *binaryReader, n int, want kind) ([]T, error) {
	list := make([]T, n)
	for i := range list {
		if want != kindPoint { // these count as positions
			if err := r.part(r.at); err != nil {
				return nil, err
			}
		}
		member, err := r.geometry(want, 0)
		if err != nil {
			return nil, err
		}
		list[i] = member.(T)
	}
	return list, nil
}

// points reads a count and that many positions.
func (r *binaryReader) points(h header) ([]orb.Point, error) {
	n, err := r.count(h.order, 8*h.dims.ordinates())
	if err != nil {
		return nil, err
	}
	if err := r.room(n, r.at); err != nil {
		return nil, err
	}
	points := make([]orb.Point, n)
	for i := range points {
		if points[i], err = r.position(h, false); err != nil {
			return nil, err
		}
	}
	return points, nil
}

// position reads the ordinates of one position.
func (r *binaryReader) position(h header, mayBeEmpty bool) (orb.Point, error) {
	at := r.at
	if err := r.need(8 * h.dims.ordinates()); err != nil {
		return orb.Point{}, err
	}
	x, y, z := r.float64(h.order), r.float64(h.order), math.NaN()
	if h.dims.z {
		z = r.float64(h.order)
	}
	if h.dims.m {
		r.at += 8
	}
	return r.keep(x, y, z, mayBeEmpty, at)
}

// count reads the number of elements that follow, each of at least size bytes, and compares it with the remaining bytes
// before anything is allocated.
func (r *binaryReader) count(order binary.ByteOrder, size int) (int, error) {
	at := r.at
	n, err := r.uint32(order)
	if err != nil {
		return 0, err
	}
	if uint64(n)*uint64(size) > uint64(len(r.data)-r.at) {
		return 0, r.malformed(RuleCount, at, "a count says "+strconv.FormatUint(uint64(n), 10)+" elements, more than the remaining "+
			decimal(len(r.data)-r.at)+" bytes can hold", "check the byte order and whether the bytes are complete")
	}
	return int(n), nil
}

func (r *binaryReader) need(n int) error {
	if len(r.data)-r.at >= n {
		return nil
	}
	return r.malformed(RuleTruncated, r.at, "the bytes end too early", "send the whole geometry")
}

func (r *binaryReader) uint32(order binary.ByteOrder) (uint32, error) {
	if err := r.need(4); err != nil {
		return 0, err
	}
	r.at += 4
	return order.Uint32(r.data[r.at-4:]), nil
}

// float64 reads a number after a call of need.
func (r *binaryReader) float64(order binary.ByteOrder) float64 {
	r.at += 8
	return math.Float64frombits(order.Uint64(r.data[r.at-8:]))
}
