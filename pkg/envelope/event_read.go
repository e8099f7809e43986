package envelope

import (
	"encoding/base64"
	"slices"
	"strconv"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/geometry"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// readEventRecord reads the published event.
func (o *Opener) readEventRecord(record transform.Value) (*transform.Feature, error) {
	f := new(transform.Feature)
	if err := eventForm(record); err != nil {
		return nil, err
	}
	var err error
	for _, m := range record.Members() {
		path := "/" + m.Name
		switch m.Name {
		case "id":
			f.ID, err = readEventValue(m.Value, path)
		case "bbox":
			f.BBox, err = readEventBBox(m.Value)
		case "geometry":
			err = o.readEventGeometry(f, m.Value)
		case "properties":
			if !m.Value.IsNull() {
				f.Properties, err = readEventMembers(m.Value, path)
			}
		case "foreign":
			f.Foreign, err = readForeign(m.Value)
		}
		if err != nil {
			return nil, about(f, err)
		}
	}
	return f, nil
}

// eventForm checks that a record has the form of the published event. Its schema has the name, but a producer may have
// changed its fields. A later version may add fields; a field that is read must not be missing silently.
func eventForm(record transform.Value) error {
	for _, name := range []string{"id", "bbox", "geometry", "properties", "foreign"} {
		v, has := record.Member(name)
		fits := v.IsNull() || v.Kind() == transform.KindArray
		switch name {
		case "id":
			fits = v.Kind() != transform.KindArray && v.Kind() != transform.KindBoolean
		case "geometry":
			fits = v.IsNull() || v.Kind() == transform.KindString
		}
		if needed := name == "geometry" || name == "properties"; !fits || needed && !has {
			return malformedEvent(classify.CodeWrongType, "/"+name, "the schema has the name of the published event, but not its field "+strconv.Quote(name),
				"write with the published schema, or rename the schema: the record is then read as a row")
		}
	}
	return nil
}

// malformedEvent returns a fault of the event's content. Its schema has already checked the form.
func malformedEvent(code classify.Code, path, message, fix string) *transform.Error {
	return fault(code, RuleEventMember, path, message, fix)
}

// readForeign reads the foreign members, which must not have the names of a feature's members.
func readForeign(v transform.Value) ([]transform.Member, error) {
	if len(v.Items()) == 0 {
		return nil, nil
	}
	members, err := readEventMembers(v, "/foreign")
	if err != nil {
		return nil, err
	}
	for i, m := range members {
		switch m.Name {
		case "type", "id", "bbox", "geometry", "properties", "crs", "features", "coordinates", "geometries":
			return nil, withValue(malformedEvent(classify.CodeNotAFeature, "/foreign/"+strconv.Itoa(i), "a foreign member has the name of a GeoJSON member",
				"leave it out, or rename it"), m.Name)
		}
	}
	return members, nil
}

func readEventBBox(v transform.Value) ([]float64, error) {
	if v.IsNull() {
		return nil, nil
	}
	if n := len(v.Items()); n != 4 && n != 6 {
		return nil, malformedEvent(classify.CodeWrongType, "/bbox", "the bbox has neither 4 nor 6 numbers", "write west, south, east, north")
	}
	bbox := make([]float64, len(v.Items()))
	for i, item := range v.Items() {
		f, err := strconv.ParseFloat(item.Text(), 64)
		if err != nil {
			return nil, malformedEvent(classify.CodeWrongType, "/bbox/"+strconv.Itoa(i), "an ordinate of the bbox is not a number", "send doubles")
		}
		bbox[i] = f
	}
	return bbox, nil
}

func (o *Opener) readEventGeometry(f *transform.Feature, v transform.Value) error {
	if v.IsNull() {
		return nil
	}
	wkb, err := base64.StdEncoding.DecodeString(v.Text())
	if err != nil {
		return malformedEvent(classify.CodeWKBMalformed, "/geometry", "the geometry is not bytes", "write it with the published schema")
	}
	g, err := geometry.Decode(geometry.WKB, wkb, o.geometryLimits())
	if err != nil {
		return geometryFault(err, "/geometry")
	}
	return setGeometry(f, g, 0, "/geometry")
}

// readEventMembers reads members with distinct names.
func readEventMembers(v transform.Value, path string) ([]transform.Member, error) {
	members := make([]transform.Member, len(v.Items()))
	seen := make(map[string]struct{}, len(members))
	for i, item := range v.Items() {
		name, _ := item.Member("name")
		at := path + "/" + strconv.Itoa(i)
		if _, twice := seen[name.Text()]; twice {
			return nil, withValue(malformedEvent(classify.CodeDuplicateKey, at, "a member occurs twice", "write each name once"), name.Text())
		}
		seen[name.Text()] = struct{}{}
		raw, _ := item.Member("value")
		value, err := readEventValue(raw, at+"/value")
		if err != nil {
			return nil, err
		}
		members[i] = transform.Member{Name: name.Text(), Value: value}
	}
	return members, nil
}

// readEventValue reads one value. An object here is a Number, a List or an Object, which differ in their single field.
func readEventValue(v transform.Value, path string) (transform.Value, error) {
	if v.Kind() != transform.KindObject {
		return v, nil
	}
	fields := v.Members()
	if len(fields) != 1 || !slices.Contains([]string{"decimal", "items", "members"}, fields[0].Name) {
		return v, malformedEvent(classify.CodeWrongType, path, "the value is not one of the event's records", "write it with the published schema")
	}
	switch inner := fields[0].Value; fields[0].Name {
	case "decimal":
		number, err := transform.ParseValue([]byte(inner.Text()))
		if err != nil || number.Kind() != transform.KindNumber {
			return v, withValue(malformedEvent(classify.CodeWrongType, path, "the decimal is not a JSON number", "write it such as 12.50"), inner.Text())
		}
		return number, nil
	case "items":
		items := make([]transform.Value, len(inner.Items()))
		for i, item := range inner.Items() {
			var err error
			if items[i], err = readEventValue(item, path+"/"+strconv.Itoa(i)); err != nil {
				return v, err
			}
		}
		return transform.ArrayValue(items...), nil
	default:
		members, err := readEventMembers(inner, path)
		return transform.ObjectValue(members...), err
	}
}
