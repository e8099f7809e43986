package transform

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/switchback-geo/switchback/pkg/classify"
)

// decoder decodes one GeoJSON Feature at a time and reuses its scratch memory.
type decoder struct {
	reader
	coordinates
}

// maxScratch is the number of positions for which a decoder keeps room between two records.
const maxScratch = 1 << 14

// Decode reads one GeoJSON Feature (RFC 7946) strictly: in one pass over its bytes if it has the common shape, otherwise
// token by token. The errors are [*Error] of the decode stage. The value is not retained.
func (t *Transformer) Decode(value []byte) (*Feature, error) {
	var feature *Feature
	err := t.read(value, func(d *decoder) (err error) {
		if feature = d.quick(); feature == nil {
			d.tokens()
			feature, err = d.decode()
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return feature, nil
}

// read checks the size of a value and runs with with a decoder for it.
func (t *Transformer) read(value []byte, with func(*decoder) error) error {
	if err := t.readBounded(value, with); err != nil {
		return t.placed(err)
	}
	return nil
}

func (t *Transformer) readBounded(value []byte, with func(*decoder) error) error {
	limits := t.config.Limits
	if len(bytes.TrimLeft(value, " \t\r\n")) == 0 {
		return &Error{Code: classify.CodeEmptyValue, Stage: classify.StageDecode, Rule: string(RuleEmptyValue),
			Message: "the record's value is empty", Fix: "send a Feature, or a null value to delete one"}
	}
	if len(value) > limits.MaxBytes {
		return &Error{Code: classify.CodeRecordTooLarge, Stage: classify.StageDecode, Rule: string(RuleBytes),
			Message: "the record has " + decimal(len(value)) + " bytes, more than " + decimal(limits.MaxBytes),
			Fix:     "split or simplify the feature, or raise limits.max_bytes"}
	}
	d, _ := t.decoders.Get().(*decoder)
	if d == nil {
		d = new(decoder)
	}
	d.receive(value, limits)
	err := with(d)
	if max(cap(d.points), cap(d.z)) <= maxScratch {
		d.release()
		t.decoders.Put(d)
	}
	return err
}

// decode reads the one value of the text.
func (d *decoder) decode() (*Feature, error) {
	if d.peek() != '{' {
		return nil, d.notAnObject()
	}
	f, seen, err := d.featureObject()
	if err != nil {
		return nil, err
	}
	if err := d.end(); err != nil {
		return nil, err
	}
	return f, d.complete(seen)
}

// featureObject reads the object of one feature, which peek has seen.
func (d *decoder) featureObject() (*Feature, seenMembers, error) {
	f := new(Feature)
	var seen seenMembers
	if err := d.open(); err != nil {
		return nil, seen, err
	}
	for d.peek() != '}' {
		name, err := d.str()
		if err != nil {
			return nil, seen, err
		}
		if err := d.member(f, name, &seen); err != nil {
			return nil, seen, err
		}
	}
	return f, seen, d.delimiter()
}

// seenMembers records which mandatory members a feature had.
type seenMembers struct{ kind, geometry, properties bool }

// member reads one member of the feature object, whose name was just read.
func (d *decoder) member(f *Feature, name string, seen *seenMembers) (err error) {
	switch name {
	case "type":
		seen.kind = true
		return d.featureType()
	case "id":
		f.ID, err = d.id()
		d.feature = f.ID.Text()
		return err
	case "bbox":
		f.BBox, err = d.bbox()
		return err
	case "geometry":
		seen.geometry = true
		f.Geometry, err = d.geometryMember(f)
		return err
	case "properties":
		seen.properties = true
		f.Properties, err = d.properties()
		return err
	case "crs":
		return d.crs(f)
	case "features", "coordinates", "geometries":
		return d.foreignMeaning(name)
	}
	if err := d.memberCase(name, "type", "id", "bbox", "geometry", "properties", "crs", "features", "coordinates", "geometries"); err != nil {
		return err
	}
	value, err := d.value()
	f.Foreign = append(f.Foreign, Member{name, value})
	return err
}

// complete checks that the mandatory members were present.
func (d *decoder) complete(seen seenMembers) error {
	missing := func(name, fix string) error {
		return d.fail(fault{code: classify.CodeNotAFeature, rule: RuleMemberMissing, whole: true,
			message: "the Feature has no member " + strconv.Quote(name), fix: fix})
	}
	switch {
	case !seen.kind:
		return missing("type", `add "type": "Feature"`)
	case !seen.geometry:
		return missing("geometry", `add it; null means that there is none`)
	case !seen.properties:
		return missing("properties", `add it; null means that there are none`)
	}
	return nil
}

// notAnObject distinguishes JSON that is not an object from text that is not JSON.
func (d *decoder) notAnObject() error {
	if err := d.skip(); err != nil {
		return err
	}
	if err := d.end(); err != nil {
		return err
	}
	return d.fail(fault{code: classify.CodeNotAFeature, rule: RuleFeatureObject, whole: true,
		message: "the record is JSON, but no GeoJSON object", fix: "send one GeoJSON Feature in a record"})
}

// featureType reads the type, which must be Feature.
func (d *decoder) featureType() error {
	if d.peek() != '"' {
		return d.wrongType("the type is not a string", fixType)
	}
	start, end, err := d.literal()
	if err != nil {
		return err
	}
	word, err := d.unquote(start, end)
	if err != nil || word == "Feature" {
		return err
	}
	f := fault{code: classify.CodeNotAFeature, rule: RuleTypeWord, start: start, end: end,
		message: "the type is not a type of GeoJSON", fix: fixType}
	switch {
	case word == "FeatureCollection":
		f.rule, f.message, f.fix = RuleFeatureObject, "the record is a FeatureCollection", fixCollection
	case isGeometryType(word):
		f.rule, f.message, f.fix = RuleFeatureObject, "the record is a bare "+word, fixGeometry
	case strings.EqualFold(word, "Feature"):
		f.message = `the type is not written "Feature"`
	}
	return d.fail(f)
}

// What to do with a record that is another GeoJSON object, or none.
const (
	fixType       = `write "type": "Feature"`
	fixCollection = "send each of its features as a record of its own, or set source.split: features"
	fixGeometry   = `wrap it: {"type": "Feature", "geometry": …, "properties": null}`
)

// foreignMeaning refuses a member that makes the record another GeoJSON object
// (RFC 7946 section 7.1).
func (d *decoder) foreignMeaning(name string) error {
	fix := fixGeometry
	if name == "features" {
		fix = fixCollection
	}
	return d.fail(fault{code: classify.CodeNotAFeature, rule: RuleMemberMeaning, start: d.offset() - int64(len(name)) - 2,
		end: d.offset(), message: "a Feature has no member " + strconv.Quote(name), fix: fix})
}

// memberCase refuses a name that differs from a GeoJSON member only in case: a lenient decoder would read it as that
// member.
func (d *decoder) memberCase(name string, members ...string) error {
	for _, member := range members {
		if len(name) == len(member) && name != member && strings.EqualFold(name, member) {
			start := d.offset() - int64(len(name)) - 2
			return d.fail(fault{code: classify.CodeMemberCase, rule: RuleMemberCase, start: start, end: d.offset(),
				message: "the member " + strconv.Quote(name) + " differs from " + strconv.Quote(member) + " in case",
				fix:     "write " + strconv.Quote(member)})
		}
	}
	return nil
}

// id reads the id: a string or a number (RFC 7946 section 3.2).
func (d *decoder) id() (Value, error) {
	switch d.peek() {
	case '"', '0':
		return d.value()
	}
	return Value{}, d.wrongType("the id is neither a string nor a number",
		"send a string or a number, or leave it out")
}

// properties reads an object or null.
func (d *decoder) properties() ([]Member, error) {
	switch d.peek() {
	case '{':
		return d.object()
	case 'n':
		_, _, err := d.literal()
		return nil, err
	}
	return nil, d.wrongType("the properties are not an object", "send an object or null")
}

// bbox reads 4 or 6 numbers (RFC 7946 section 5).
func (d *decoder) bbox() ([]float64, error) {
	if d.peek() != '[' {
		return nil, d.wrongType("the bbox is not an array", "send 4 or 6 numbers, or leave it out")
	}
	if err := d.open(); err != nil {
		return nil, err
	}
	start := d.offset() - 1
	bbox := make([]float64, 0, 6)
	for d.peek() != ']' && len(bbox) <= 6 {
		ordinate, err := d.ordinate("a bbox has numbers only")
		if err != nil {
			return nil, err
		}
		bbox = append(bbox, ordinate)
	}
	if len(bbox) != 4 && len(bbox) != 6 {
		return nil, d.fail(fault{code: classify.CodeWrongType, rule: RuleBBoxSize, start: start, earlier: true,
			message: "the bbox has neither 4 nor 6 numbers", fix: "write west, south, east, north"})
	}
	return bbox, d.delimiter()
}

// geometryMember reads the geometry of the feature: an object or null.
func (d *decoder) geometryMember(f *Feature) (Geometry, error) {
	if d.peek() == 'n' {
		_, _, err := d.literal()
		return Geometry{}, err
	}
	d.coordinates.clear()
	shape, err := d.geometry(f, 0)
	if err != nil {
		return Geometry{}, err
	}
	return Geometry{Shape: shape, Z: d.heights()}, nil
}

// isGeometryType reports whether word is one of the seven types.
func isGeometryType(word string) bool { return slices.Contains(GeometryTypes(), GeometryType(word)) }
