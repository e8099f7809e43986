package envelope

import (
	"cmp"
	"encoding/base64"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/paulmach/orb"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/geometry"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// row converts a row at path to a feature. otherwise is the form of its geometry if the options name none.
func (o *Opener) row(row transform.Value, path string, otherwise GeometryFormat) (*transform.Feature, error) {
	if row.Kind() != transform.KindObject {
		return nil, fault(classify.CodeWrongType, RuleNotARecord, path, "the row is not a record, but "+article(row.Kind()), "send a record with an id and a geometry")
	}
	f := new(transform.Feature)
	rules := o.options.Row
	var err error
	if f.ID, err = rowID(row, rules, path); err != nil {
		return nil, err
	}
	if row, err = o.available(row, path); err != nil {
		return nil, about(f, err)
	}
	column := cmp.Or(rules.Geometry, "geometry")
	value, found := lookup(row, column)
	if !found {
		return nil, about(f, fault(classify.CodeMissingRequired, RuleColumn, path+pointer(column), "the row has no column "+strconv.Quote(column)+" for the geometry",
			"name the column in source.row.geometry; a null in it is no geometry"))
	}
	if err := o.rowGeometry(f, value, path+pointer(column), otherwise); err != nil {
		return nil, about(f, err)
	}
	f.Properties, err = rowProperties(row, rules, path, column)
	if err != nil {
		return nil, about(f, err)
	}
	return f, nil
}

// rowID returns the id of a row.
func rowID(row transform.Value, rules Row, path string) (transform.Value, error) {
	column := cmp.Or(rules.ID, "id")
	value, found := lookup(row, column)
	switch value.Kind() {
	case transform.KindString, transform.KindNumber:
		return value, nil
	case transform.KindNull:
		if rules.ID != "" && !found {
			return value, fault(classify.CodeMissingRequired, RuleColumn, path+pointer(column), "the row has no column "+strconv.Quote(column)+" for the id",
				"name the column in source.row.id")
		}
		return transform.NullValue(), nil
	default:
		return value, withValue(fault(classify.CodeWrongType, RuleColumn, path+pointer(column), "the id is "+article(value.Kind()), "an id is a string or a number"),
			string(value.AppendJSON(nil)))
	}
}

// rowProperties returns the columns that are neither ID nor geometry, or the content of the properties column. It only
// drops whole columns: of a path into a column, the rest stays.
func rowProperties(row transform.Value, rules Row, path, geometryColumn string) ([]transform.Member, error) {
	if rules.Properties != "" {
		value, _ := lookup(row, rules.Properties)
		if value.IsNull() {
			return nil, nil
		}
		if value.Kind() != transform.KindObject {
			return nil, fault(classify.CodeWrongType, RuleColumn, path+pointer(rules.Properties), "the properties are "+article(value.Kind()), "send a record or a map")
		}
		return slices.Clone(value.Members()), nil
	}
	id := cmp.Or(rules.ID, "id")
	properties := make([]transform.Member, 0, len(row.Members()))
	for _, m := range row.Members() {
		if m.Name != id && m.Name != geometryColumn {
			properties = append(properties, m)
		}
	}
	return properties, nil
}

// rowGeometry reads the geometry of a row and declares its SRID.
func (o *Opener) rowGeometry(f *transform.Feature, v transform.Value, path string, otherwise GeometryFormat) error {
	if v.IsNull() {
		return nil
	}
	format := cmp.Or(o.options.Row.GeometryFormat, otherwise)
	if format == GeometryGeoJSON {
		return o.rowGeoJSON(f, v, path)
	}
	srid := int32(0)
	if format == GeometryStruct {
		var err error
		if point, isPoint := pointOf(v); isPoint {
			return o.structPoint(f, v, point, path)
		}
		if v, srid, err = structOf(v, path); err != nil {
			return err
		}
		path, format = path+"/wkb", GeometryEWKB
		if v.IsNull() {
			return nil
		}
	}
	if v.Kind() != transform.KindString {
		return fault(classify.CodeWrongType, RuleColumn, path, "the geometry is "+article(v.Kind())+", not "+string(format), "name its form in source.row.geometry_format")
	}
	data := []byte(v.Text())
	if format == GeometryWKB || format == GeometryEWKB { // bytes, which are base64 in a value
		raw, err := base64.StdEncoding.Strict().DecodeString(v.Text())
		if err != nil {
			return withValue(fault(classify.CodeWKBMalformed, RuleColumn, path, "the geometry is not bytes", "is it text, of the form "+string(format)+"_hex?"), v.Text())
		}
		data = raw
	}
	g, err := geometry.Decode(geometry.Format(format), data, o.geometryLimits())
	if err != nil {
		return geometryFault(err, path)
	}
	if srid != 0 && g.SRID != 0 && srid != g.SRID {
		return fault(classify.CodeUnknownCRS, RuleSRIDConflict, path, "the struct has SRID "+strconv.Itoa(int(srid))+", the EWKB inside of it "+strconv.Itoa(int(g.SRID)),
			"correct the column at its source")
	}
	return setGeometry(f, g, max(srid, g.SRID), path)
}

// setGeometry sets a geometry and declares its SRID.
func setGeometry(f *transform.Feature, g geometry.Geometry, srid int32, path string) error {
	if emptyInMulti(g.Shape) {
		return fault(classify.CodeGeometryEmpty, RuleEmptyGeometry, path, "a MultiPoint has an empty point, which GeoJSON cannot represent", "leave the point out")
	}
	f.Geometry = transform.Geometry{Shape: g.Shape, Z: g.Z}
	if srid != 0 {
		f.DeclareCRS("EPSG:" + strconv.Itoa(int(srid)))
	}
	return nil
}

// emptyInMulti reports whether a MultiPoint in a shape has an empty point.
func emptyInMulti(shape orb.Geometry) bool {
	switch shape := shape.(type) {
	case orb.MultiPoint:
		return slices.ContainsFunc(shape, geometry.IsEmptyPoint)
	case orb.Collection:
		return slices.ContainsFunc(shape, emptyInMulti)
	}
	return false
}

// rowGeoJSON reads a geometry object, or the text of one.
func (o *Opener) rowGeoJSON(f *transform.Feature, v transform.Value, path string) error {
	text := v.AppendJSON(nil)
	if v.Kind() == transform.KindString {
		text = []byte(strings.TrimSpace(v.Text()))
	}
	if len(text) == 0 || text[0] != '{' {
		return withValue(fault(classify.CodeWrongType, RuleColumn, path, "the geometry is not a GeoJSON object", "name its form in source.row.geometry_format"), string(text))
	}
	if _, err := transform.ParseValue(text); err != nil { // nothing can close the object early
		return below(err, "", path)
	}
	return o.geometryObject(f, text, path)
}

// structOf splits Debezium's geometry struct. It refuses half a point, which is not an absent geometry.
func structOf(v transform.Value, path string) (transform.Value, int32, error) {
	wkb, found := v.Member("wkb")
	x, _ := v.Member("x")
	y, _ := v.Member("y")
	if !found || wkb.IsNull() && !(x.IsNull() && y.IsNull()) {
		return v, 0, fault(classify.CodeWrongType, RuleColumn, path, "the geometry is not a struct of srid and wkb, or of the numbers x and y", "name its form in source.row.geometry_format")
	}
	srid, err := structSRID(v, path)
	return wkb, srid, err
}

// structSRID returns the SRID of the struct, or 0 if it has none.
func structSRID(v transform.Value, path string) (int32, error) {
	value, _ := v.Member("srid")
	if value.IsNull() {
		return 0, nil
	}
	srid, err := strconv.ParseInt(value.Text(), 10, 32)
	if err != nil || srid < 0 || value.Kind() != transform.KindNumber {
		return 0, withValue(fault(classify.CodeUnknownCRS, RuleColumn, path+"/srid", "the srid is not a number of 31 bits", "send an EPSG code, or null"), value.Text())
	}
	return int32(srid), nil
}

// pointOf returns the position of a struct io.debezium.data.geometry.Point, which has x and y and may lack its wkb.
func pointOf(v transform.Value) (orb.Point, bool) {
	if wkb, _ := v.Member("wkb"); !wkb.IsNull() {
		return orb.Point{}, false
	}
	var p orb.Point
	for i, name := range [...]string{"x", "y"} {
		ordinate, _ := v.Member(name)
		number, err := strconv.ParseFloat(ordinate.Text(), 64)
		if ordinate.Kind() != transform.KindNumber || err != nil {
			return orb.Point{}, false
		}
		p[i] = number
	}
	return p, true
}

// structPoint takes the position of a struct without a wkb.
func (o *Opener) structPoint(f *transform.Feature, v transform.Value, point orb.Point, path string) error {
	srid, err := structSRID(v, path)
	if err != nil {
		return err
	}
	return setGeometry(f, geometry.Geometry{Shape: point}, srid, path)
}

// lookup finds a column by its name, or by a path of names joined by dots.
func lookup(row transform.Value, path string) (transform.Value, bool) {
	if v, found := row.Member(path); found {
		return v, true
	}
	name, rest, more := strings.Cut(path, ".")
	if !more {
		return transform.Value{}, false
	}
	below, found := row.Member(name)
	if !found {
		return transform.Value{}, false
	}
	return lookup(below, rest)
}

// pointer writes a column as a JSON pointer.
func pointer(column string) string {
	var p jsontext.Pointer
	for part := range strings.SplitSeq(column, ".") {
		p = p.AppendToken(part)
	}
	return string(p)
}

// article writes a kind of value for a message.
func article(kind transform.Kind) string {
	if slices.Contains([]transform.Kind{transform.KindArray, transform.KindObject}, kind) {
		return "an " + string(kind)
	}
	if kind == transform.KindNull {
		return "null"
	}
	return "a " + string(kind)
}
