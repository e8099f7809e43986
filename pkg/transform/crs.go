package transform

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/crs"
	"github.com/switchback-geo/switchback/pkg/geometry"
	"github.com/switchback-geo/switchback/pkg/internal/shorten"
	"github.com/switchback-geo/switchback/pkg/transform/internal/numbers"
	"github.com/switchback-geo/switchback/pkg/transform/internal/shapes"
)

// wgs84 reports whether a system is WGS 84 in degrees, whatever its name.
func wgs84(c *crs.CRS) bool { return c.Code() == "EPSG:4326" || c.Code() == "OGC:CRS84" }

// sameSystem reports whether two systems differ in their axis order at most.
func sameSystem(a, b *crs.CRS) bool { return a.Code() == b.Code() || wgs84(a) && wgs84(b) }

// systems are the coordinate reference systems of a mapping.
type systems struct {
	source *crs.CRS // in the axis order of the records
	target *crs.CRS // longitude or easting first

	rules GeometryRules
	grids *crs.Grids // nil without a folder

	transforms sync.Map // from a source's code to its *crs.Transform into target
}

// open looks up the names of a checked config.
func (s *systems) open(config Config) {
	s.rules, s.grids = config.Geometry, config.Grids
	s.source, _ = crs.Lookup(s.rules.SourceCRS)
	target, _ := crs.Lookup(s.rules.TargetCRS)
	s.target = target.WithAxisOrder(crs.AxisXY)
}

// transform returns the transformation of x, y in a system to the target; nil
// when there is nothing to transform.
func (s *systems) transform(from *crs.CRS) (*crs.Transform, error) {
	if sameSystem(from, s.target) {
		return nil, nil
	}
	if t, found := s.transforms.Load(from.Code()); found {
		return t.(*crs.Transform), nil
	}
	t, err := s.grids.NewTransform(from.WithAxisOrder(crs.AxisXY), s.target, s.outside())
	if err == nil {
		s.transforms.Store(from.Code(), t)
	}
	return t, err
}

// DeclareCRS records a coordinate reference system that a record names, such as the "EPSG:25832" of an SRID.
// [Transformer.Gate] judges it. Coordinates are longitude or easting first.
func (f *Feature) DeclareCRS(name string) { f.crs = append(f.crs, name) }

// DeclaredCRS lists the names from [Feature.DeclareCRS] and from crs members, in their order and as written.
func (f *Feature) DeclaredCRS() []string { return slices.Clone(f.crs) }

// crs reads a crs member (GeoJSON 2008 section 3; RFC 7946 has none) and records its name for the gate.
func (d *decoder) crs(f *Feature) error {
	value, err := d.value()
	if err != nil {
		return err
	}
	f.DeclareCRS(crsName(value))
	return nil
}

// crsName returns the name in a crs member: {"type": "name", "properties": {"name": …}}, {"type": "EPSG", "properties":
// {"code": …}}, or a string. Any other value, null included, has no known name and is returned as written.
func crsName(value Value) string {
	if value.Kind() == KindString {
		return value.text
	}
	if name := lookup(value.Members(), "properties.name", "."); name != nil && name.Kind() == KindString {
		return name.text
	}
	kind, code := lookup(value.Members(), "type", "."), lookup(value.Members(), "properties.code", ".")
	if kind != nil && code != nil && strings.EqualFold(kind.Text(), "EPSG") {
		return "EPSG:" + code.Text()
	}
	return string(value.AppendJSON(nil))
}

// sourceOf returns the coordinate reference system of a feature: the config's,
// or the one that the record names (S1-4).
func (t *Transformer) sourceOf(f *Feature) (*crs.CRS, error) {
	source := t.systems.source
	for i, name := range f.crs {
		declared, err := crs.Lookup(name)
		if err != nil {
			return nil, f.unknownCRS(name, err)
		}
		declared = declared.WithAxisOrder(crs.AxisXY)
		switch {
		case i == 0 && t.config.Geometry.DeclaredCRS == DeclaredUse:
			if err := t.noGrid(f, declared, name); err != nil {
				return nil, err
			}
			source = declared
		case !sameSystem(declared, source):
			return nil, t.conflict(f, name, source, i)
		case i == 0:
			source = declared // the same, in the axis order of a crs member
		}
	}
	return source, nil
}

// unknownCRS returns the error for a record that names an unsupported system.
func (f *Feature) unknownCRS(name string, err error) *Error {
	fix := "send one that docs/crs.md lists, or WGS 84 and no crs member"
	if unknown, ok := errors.AsType[*crs.UnknownError](err); ok {
		fix = "send another one, or WGS 84 and no crs member; " + unknown.Fix()
	}
	return f.refuse(classify.CodeUnknownCRS, RuleCRS, "/crs", shorten.Text(name), "the record's coordinate reference system is not supported", fix)
}

// conflict returns the error for a record that names another system than the config, or two systems.
func (t *Transformer) conflict(f *Feature, name string, source *crs.CRS, i int) *Error {
	if i > 0 && t.config.Geometry.DeclaredCRS == DeclaredUse {
		return f.refuse(classify.CodeCRSConflict, RuleCRS, "/crs", shorten.Text(name), "the record names two coordinate reference systems, "+
			source.Code()+" first", "send one")
	}
	return f.refuse(classify.CodeCRSConflict, RuleCRS, "/crs", shorten.Text(name), "the record names another coordinate reference system than the configured "+
		source.Code(), "send "+source.Code()+", set geometry.source_crs, or set geometry.declared_crs: use")
}

// outside returns the error for a position that its system does not reach.
func (t *Transformer) outside(f *Feature, source *crs.CRS, g Geometry, index int, err error) *Error {
	e := f.refuse(classify.CodeCoordinateRange, RuleRange, "/geometry"+shapes.PositionPath(g.Shape, index), "",
		"a position cannot be transformed from "+source.Code()+" to "+t.systems.target.Code(), "")
	e.Err = err
	if beyond, ok := errors.AsType[*crs.RangeError](err); ok {
		e.Value = positionText(beyond.X, beyond.Y)
		switch beyond.Reason {
		case crs.ReasonOutsideGrid:
			e.Message += ": no grid file covers it"
			e.Fix = "add a grid file that does, or set geometry.grids.outside: parameters"
			return e
		default: // beyond the domain of the system
		}
		e.Message += ": it lies beyond the domain of " + beyond.CRS.Code() + " (" + beyond.CRS.Name() + ")"
		e.Fix = beyond.Hint()
	}
	if e.Fix == "" {
		e.Fix = "fix the position, or set geometry.source_crs to the system that it is in"
	} else {
		e.Fix = "check geometry.source_crs: " + e.Fix
	}
	return e
}

// positionText writes a position for [Error.Value].
func positionText(x, y float64) string {
	text := append(numbers.AppendFloat([]byte{'['}, x), ',')
	return string(append(numbers.AppendFloat(text, y), ']'))
}

// candidates names the systems that a position may be in, or returns "".
func candidates(x, y float64) string {
	var words []string
	for _, candidate := range crs.Guess(x, y) {
		words = append(words, candidate.String())
	}
	return strings.Join(words[:min(4, len(words))], ", ")
}

// refuse returns an error of the gate.
func (f *Feature) refuse(code classify.Code, rule Rule, path, value, message, fix string) *Error {
	return &Error{Code: code, Stage: classify.StageGate, Rule: string(rule), Path: path, Value: value,
		Message: message, Fix: fix, Feature: f.IDString()}
}

// quoteList writes words for a message.
func quoteList[T ~string](words []T) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = strconv.Quote(string(word))
	}
	return strings.Join(quoted, ", ")
}

// swapped returns a copy of a geometry with the two ordinates of each position exchanged.
func swapped(g Geometry) Geometry {
	return Geometry{Shape: geometry.Moved(g.Shape, geometry.Swapped), Z: g.Z}
}
