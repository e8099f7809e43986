package transform

import (
	"strconv"
	"strings"

	"github.com/paulmach/orb"
	"github.com/switchback-geo/switchback/pkg/classify"
)

// geometry reads a geometry object (RFC 7946 section 3.1) inside depth collections. Its own bbox is checked and dropped;
// a crs member and the first foreign member are recorded on the feature.
func (d *decoder) geometry(f *Feature, depth int) (orb.Geometry, error) {
	if d.peek() != '{' {
		return nil, d.wrongType("the geometry is not an object", "send a geometry object or null")
	}
	if err := d.open(); err != nil {
		return nil, err
	}
	g := geometryObject{depth: depth, start: d.offset() - 1}
	if depth > d.limits.MaxCollectionDepth {
		return nil, d.fail(fault{code: classify.CodeTooDeep, rule: RuleCollectionDepth, start: g.start,
			message: "geometry collections are nested deeper than " + decimal(d.limits.MaxCollectionDepth) + " levels",
			fix:     "flatten the collection, or raise limits.max_collection_depth"})
	}
	for d.peek() != '}' {
		name, err := d.str()
		if err != nil {
			return nil, err
		}
		if err := d.geometryObjectMember(f, &g, name); err != nil {
			return nil, err
		}
	}
	if err := d.delimiter(); err != nil {
		return nil, err
	}
	return d.assemble(&g)
}

// geometryObject has the members of a geometry object that were read so far, because its members may come in any
// order.
type geometryObject struct {
	start                   int64 // of its '{'
	kind                    GeometryType
	coordinates, geometries bool
	members                 orb.Collection
	depth                   int
}

// geometryObjectMember reads one member, whose name was just read.
func (d *decoder) geometryObjectMember(f *Feature, g *geometryObject, name string) (err error) {
	switch name {
	case "type":
		g.kind, err = d.geometryType()
		return err
	case "coordinates", "geometries":
		if g.coordinates || g.geometries {
			return d.geometryFault(RuleMemberMeaning, d.offset()-1, "a geometry has both coordinates and geometries",
				"write coordinates, or for a GeometryCollection geometries")
		}
		if name == "geometries" {
			g.geometries = true
			g.members, err = d.collection(f, g.depth)
			return err
		}
		g.coordinates = true
		return d.scan()
	case "bbox":
		_, err = d.bbox()
		return err
	case "crs":
		return d.crs(f)
	case "geometry", "properties", "features":
		return d.geometryFault(RuleMemberMeaning, d.offset()-1, "a geometry has no member "+strconv.Quote(name),
			"move it to the Feature")
	}
	if err := d.memberCase(name, "type", "coordinates", "geometries", "bbox", "crs", "geometry", "properties", "features"); err != nil {
		return err
	}
	if f.geometryMember == "" {
		f.geometryMember = name
	}
	return d.skip()
}

// geometryFault returns the error for a wrong structure of the geometry that was read up to here.
func (d *decoder) geometryFault(rule Rule, start int64, message, fix string) error {
	return d.fail(fault{code: classify.CodeGeometryStructure, rule: rule, start: start, message: message, fix: fix})
}

// geometryType reads the type of a geometry.
func (d *decoder) geometryType() (GeometryType, error) {
	if d.peek() != '"' {
		return "", d.wrongType("the geometry's type is not a string", "write one of "+geometryWords())
	}
	start, end, err := d.literal()
	if err != nil {
		return "", err
	}
	word, err := d.unquote(start, end)
	if err != nil || isGeometryType(word) {
		return GeometryType(word), err
	}
	fix := "write one of " + geometryWords()
	for _, known := range GeometryTypes() {
		if strings.EqualFold(word, string(known)) {
			fix = "write " + strconv.Quote(string(known))
		}
	}
	return "", d.fail(fault{code: classify.CodeGeometryType, rule: RuleTypeWord, start: start, end: end,
		message: "the geometry's type is none of RFC 7946", fix: fix})
}

// geometryWords lists the types for a message.
func geometryWords() string {
	var words []string
	for _, known := range GeometryTypes() {
		words = append(words, string(known))
	}
	return strings.Join(words, ", ")
}

// collection reads the members of a GeometryCollection.
func (d *decoder) collection(f *Feature, depth int) (orb.Collection, error) {
	if d.peek() != '[' {
		return nil, d.wrongType("geometries is not an array", "send an array of geometry objects")
	}
	if err := d.open(); err != nil {
		return nil, err
	}
	members := orb.Collection{}
	for d.peek() != ']' {
		if err := d.countRing(); err != nil {
			return nil, err
		}
		d.coordinates.next()
		member, err := d.geometry(f, depth+1)
		if err != nil {
			return nil, err
		}
		members = append(members, member)
	}
	return members, d.delimiter()
}
