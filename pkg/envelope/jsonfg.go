package envelope

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/crs"
	"github.com/switchback-geo/switchback/pkg/geometry"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// jsonFG reads a Feature of OGC JSON-FG 1.0 (21-045): a GeoJSON Feature with additional members.
func (o *Opener) jsonFG(value []byte) (*transform.Feature, error) {
	f, err := o.transformer.Decode(value)
	if err != nil {
		return nil, err
	}
	if err := o.toGeoJSON(f, transform.NullValue()); err != nil {
		return nil, err
	}
	return f, nil
}

// toGeoJSON moves what JSON-FG adds to a feature to where GeoJSON has it. common is the system of a place that names
// none.
func (o *Opener) toGeoJSON(f *transform.Feature, common transform.Value) error {
	if err := checkTime(foreign(f, "time")); err != nil {
		return about(f, err)
	}
	place, system := foreign(f, "place"), foreign(f, "coordRefSys")
	if system.IsNull() {
		system = common
	}
	f.Foreign = slices.DeleteFunc(f.Foreign, func(m transform.Member) bool { return m.Name == "place" || m.Name == "coordRefSys" })
	if place.IsNull() { // the geometry is in WGS 84, whatever coordRefSys says about the place
		return nil
	}
	err := o.place(f, place, system)
	if err != nil && o.options.Unsupported == UnsupportedGeometry && !f.Geometry.IsNull() && isUnsupported(err) {
		return nil
	}
	return about(f, err)
}

// about adds the feature's ID to an error.
func about(f *transform.Feature, err error) error {
	if e, ok := err.(*transform.Error); ok && e.Feature == "" { //nolint:errorlint // made here, and not wrapped
		e.Feature = f.IDString()
	}
	return err
}

// isUnsupported reports whether a fault is that GeoJSON cannot represent something.
func isUnsupported(err error) bool {
	e, ok := err.(*transform.Error) //nolint:errorlint // made here, and not wrapped
	return ok && (e.Rule == string(RulePlaceType) || e.Rule == string(RulePlaceMeasures) || e.Rule == string(RulePlaceCRS))
}

// foreign returns a foreign member, or null if there is none.
func foreign(f *transform.Feature, name string) transform.Value {
	v, _ := transform.ObjectValue(f.Foreign...).Member(name)
	return v
}

// place uses the geometry of the place, in the named system.
func (o *Opener) place(f *transform.Feature, place, system transform.Value) error {
	if own, has := place.Member("coordRefSys"); has {
		system = own
	}
	if err := checkPlace(place, "/place", true); err != nil {
		return err
	}
	source, err := placeCRS(system)
	if err != nil {
		return err
	}
	plain := transform.ObjectValue(slices.DeleteFunc(slices.Clone(place.Members()), func(m transform.Member) bool {
		return m.Name == "coordRefSys" || m.Name == "measures"
	})...)
	if err := o.geometryObject(f, plain.AppendJSON(nil), "/place"); err != nil {
		return err
	}
	if source.AxisOrder() == crs.AxisYX {
		f.Geometry.Shape = geometry.Moved(f.Geometry.Shape, geometry.Swapped)
	}
	f.BBox = nil // it belongs to the former geometry
	f.DeclareCRS(source.Code())
	return nil
}

// geometryObject reads the text of a geometry as strictly as that of a feature, and declares the system that it names:
// PostGIS writes a crs member by default (ST_AsGeoJSON), which has the same meaning as that of a feature.
func (o *Opener) geometryObject(f *transform.Feature, text []byte, path string) error {
	wrapped := append([]byte(`{"type":"Feature","properties":null,"geometry":`), text...)
	read, err := o.transformer.Decode(append(wrapped, '}'))
	if err != nil {
		return below(err, "/geometry", path)
	}
	f.Geometry = read.Geometry
	for _, name := range read.DeclaredCRS() {
		f.DeclareCRS(name)
	}
	return nil
}

// unsupportedTypes are the types of JSON-FG that GeoJSON cannot represent.
func unsupportedTypes() []string {
	return []string{
		"Polyhedron", "MultiPolyhedron", "Prism", "MultiPrism", "CircularString", "CompoundCurve", "CurvePolygon", "MultiCurve", "MultiSurface",
	}
}

// checkPlace refuses what GeoJSON cannot represent, before the rest is read.
func checkPlace(place transform.Value, path string, outermost bool) *transform.Error {
	kind, _ := place.Member("type")
	if slices.Contains(unsupportedTypes(), kind.Text()) {
		return withValue(fault(classify.CodeUnsupportedGeometry, RulePlaceType, path+"/type", "a "+kind.Text()+" has no form in GeoJSON",
			"send a place of one of the seven types of RFC 7946, or set source.jsonfg.unsupported: geometry to use the feature's geometry instead"), kind.Text())
	}
	if measures, has := place.Member("measures"); has {
		if enabled, _ := measures.Member("enabled"); enabled.Bool() {
			return fault(classify.CodeUnsupportedGeometry, RulePlaceMeasures, path+"/measures", "the place has measures, which GeoJSON cannot represent",
				"send it without measures")
		}
	}
	if _, has := place.Member("coordRefSys"); has && !outermost {
		return fault(classify.CodeUnknownCRS, RulePlaceCRS, path+"/coordRefSys", "a part of the place has a system of its own", "send all parts in one system")
	}
	geometries, _ := place.Member("geometries")
	for i, part := range geometries.Items() {
		if err := checkPlace(part, path+"/geometries/"+strconv.Itoa(i), false); err != nil {
			return err
		}
	}
	return nil
}

// placeCRS returns the system of a coordRefSys: a URI, a safe CURIE, or a reference object without an epoch (JSON-FG,
// section 7.5). Without one it is CRS84.
func placeCRS(system transform.Value) (*crs.CRS, error) {
	refuse := func(message, fix string) error {
		return withValue(fault(classify.CodeUnknownCRS, RulePlaceCRS, "/coordRefSys", message, fix), string(system.AppendJSON(nil)))
	}
	name := system
	switch system.Kind() {
	case transform.KindNull:
		name = transform.StringValue("OGC:CRS84")
	case transform.KindArray:
		return nil, refuse("the coordinate reference system is a compound of several", "name the horizontal one alone")
	case transform.KindObject:
		if epoch, has := system.Member("epoch"); has && !epoch.IsNull() {
			return nil, refuse("the coordinate reference system has an epoch", "transform the place to a static system")
		}
		name, _ = system.Member("href")
	default: // a name, or what is refused below
	}
	if name.Kind() != transform.KindString {
		return nil, refuse("the coordinate reference system is not a name", "write its URI, such as http://www.opengis.net/def/crs/EPSG/0/25832")
	}
	word := name.Text()
	if strings.HasSuffix(word, "/CRS84h") { // CRS84 with heights, which stay as they are
		word = strings.TrimSuffix(word, "h")
	}
	found, err := crs.Lookup(word)
	if err != nil {
		return nil, refuse("the coordinate reference system is not known", "send one of those that docs/crs.md lists")
	}
	return found, nil
}

// checkTime checks the time of a feature (JSON-FG, section 7.2): a date, a timestamp, or an interval of them. It stays a
// foreign member.
func checkTime(v transform.Value) error {
	if v.IsNull() {
		return nil
	}
	refuse := func(path string, value transform.Value, message string) error {
		return withValue(fault(classify.CodeEnvelopeMalformed, RuleTime, "/time"+path, message,
			`write a date ("2026-11-03"), a timestamp in UTC ("2026-11-03T04:05:06Z"), or an interval of two with ".." for an open end`), value.Text())
	}
	if v.Kind() != transform.KindObject {
		return refuse("", v, "the time is not an object")
	}
	for _, m := range v.Members() {
		switch m.Name {
		case "date":
			if !isDate(m.Value) {
				return refuse("/date", m.Value, "the date is not a full date")
			}
		case "timestamp":
			if !isTimestamp(m.Value) {
				return refuse("/timestamp", m.Value, "the timestamp is not a time in UTC")
			}
		case "interval":
			ends := m.Value.Items()
			if len(ends) != 2 {
				return refuse("/interval", m.Value, "the interval does not have two ends")
			}
			for _, end := range ends {
				if end.Text() != ".." && !isDate(end) && !isTimestamp(end) {
					return refuse("/interval", end, "an end of the interval is neither a date, nor a timestamp, nor open")
				}
			}
		}
	}
	return nil
}

func isDate(v transform.Value) bool {
	_, err := time.Parse(time.DateOnly, v.Text())
	return v.Kind() == transform.KindString && err == nil
}

func isTimestamp(v transform.Value) bool {
	_, err := transform.ParseRFC3339(v.Text())
	return v.Kind() == transform.KindString && err == nil && strings.HasSuffix(v.Text(), "Z")
}
