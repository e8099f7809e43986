package transform

import (
	"bytes"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/switchback-geo/switchback/pkg/classify"
)

// Collection is one decoded FeatureCollection (RFC 7946 section 3.3).
type Collection struct {
	// Features are in their order.
	Features []*Feature

	// Foreign are the members of the collection that RFC 7946 does not define, in their order.
	Foreign []Member
}

// IsCollection reports whether a value claims to be a FeatureCollection. It only reads the member type.
func IsCollection(value []byte) bool {
	d := jsontext.NewDecoder(bytes.NewBuffer(value))
	if d.PeekKind() != '{' {
		return false
	}
	if _, err := d.ReadToken(); err != nil {
		return false
	}
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return false
		}
		if name.String() == "type" {
			word, err := d.ReadToken()
			return err == nil && word.Kind() == '"' && word.String() == "FeatureCollection"
		}
		if err := d.SkipValue(); err != nil {
			return false
		}
	}
	return false
}

// DecodeCollection reads one FeatureCollection of at most most features, as strictly as [Transformer.Decode] reads a
// Feature and within the same limits. Each feature declares the crs of the collection (GeoJSON 2008). A bbox of the
// collection is checked and dropped. The errors are [*Error] of the decode stage, with paths such as
// /features/17/geometry. The value is not retained.
func (t *Transformer) DecodeCollection(value []byte, most int) (*Collection, error) {
	c := new(Collection)
	if err := t.read(value, func(d *decoder) error {
		d.tokens()
		return d.featureCollection(c, most)
	}); err != nil {
		return nil, err
	}
	return c, nil
}

// featureCollection reads the one value of the text.
func (d *decoder) featureCollection(c *Collection, most int) error {
	if d.peek() != '{' {
		return d.notAnObject()
	}
	if err := d.open(); err != nil {
		return err
	}
	var common Feature // members that apply to all features
	for d.peek() != '}' {
		name, err := d.str()
		if err != nil {
			return err
		}
		if err := d.collectionMember(c, &common, name, most); err != nil {
			return err
		}
	}
	if err := d.delimiter(); err != nil {
		return err
	}
	if err := d.end(); err != nil {
		return err
	}
	if c.Features == nil {
		return d.fail(fault{code: classify.CodeNotAFeature, rule: RuleMemberMissing, whole: true,
			message: `the FeatureCollection has no member "features"`, fix: "add it; [] means that there are none"})
	}
	for _, f := range c.Features {
		f.crs = append(f.crs, common.crs...)
	}
	return nil
}

// collectionMember reads one member, whose name was just read.
func (d *decoder) collectionMember(c *Collection, common *Feature, name string, most int) (err error) {
	switch name {
	case "type": // it is FeatureCollection, or the caller would not have called this
		return d.skip()
	case "features":
		return d.features(c, most)
	case "bbox":
		_, err = d.bbox()
		return err
	case "crs":
		return d.crs(common)
	case "geometry", "properties", "coordinates", "geometries":
		return d.fail(fault{code: classify.CodeNotAFeature, rule: RuleMemberMeaning, start: d.offset() - int64(len(name)) - 2, end: d.offset(),
			message: "a FeatureCollection has no member " + strconv.Quote(name), fix: "leave it out (RFC 7946 section 7.1)"})
	}
	if err := d.memberCase(name, "type", "features", "bbox", "crs", "geometry", "properties", "coordinates", "geometries"); err != nil {
		return err
	}
	value, err := d.value()
	c.Foreign = append(c.Foreign, Member{name, value})
	return err
}

// features reads the array of features.
func (d *decoder) features(c *Collection, most int) error {
	if d.peek() != '[' {
		return d.wrongType("the features are not an array", "send an array of Features")
	}
	if err := d.open(); err != nil {
		return err
	}
	c.Features = []*Feature{}
	for d.peek() != ']' {
		if d.feature = ""; len(c.Features) == most {
			e := d.fail(fault{code: classify.CodeLimitExceeded, rule: RuleFeatures, start: d.offset(),
				message: "the FeatureCollection has more than " + decimal(most) + " features", fix: "send smaller ones, or raise source.max_features"})
			e.Path = string(d.decoder.StackPointer().Parent())
			return e
		}
		f, err := d.part()
		if err != nil {
			return err
		}
		c.Features = append(c.Features, f)
	}
	d.feature = ""
	return d.delimiter()
}

// part reads one feature of the array.
func (d *decoder) part() (*Feature, error) {
	if d.peek() != '{' {
		return nil, d.wrongType("a feature of the collection is not an object", "send an array of Features")
	}
	start := d.offset() + int64(bytes.IndexByte(d.src[d.offset():], '{'))
	f, seen, err := d.featureObject()
	if err != nil {
		return nil, err
	}
	err = d.complete(seen)
	if e, ok := err.(*Error); ok { //nolint:errorlint // made there, and not wrapped
		e.Path, e.Offset = string(d.decoder.StackPointer()), start // a member that is missing in a record is missing in this feature
		e.Line, e.Column = lineColumn(d.src, start)
	}
	return f, err
}
