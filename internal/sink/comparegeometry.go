package sink

import (
	"fmt"
	"slices"
	"strings"

	"github.com/switchback-geo/switchback/pkg/transform"
)

// geometryType returns the type of a new geometry column. PostGIS has no type for geometries with one SRID of which some
// have heights, so that is a constraint, which the view geometry_columns recognizes.
func (t *table) geometryType() string {
	switch t.expected.heights {
	case noHeights:
		return fmt.Sprintf("geometry(Geometry, %d)", t.srid)
	case allHeights:
		return fmt.Sprintf("geometry(GeometryZ, %d)", t.srid)
	default:
		return "geometry"
	}
}

// geometryCheck returns the constraint for it, or "".
func (t *table) geometryCheck() string {
	if t.expected.heights != someHeights {
		return ""
	}
	return fmt.Sprintf("constraint %s check (st_srid(%s) = %d)", quote("enforce_srid_"+t.geometry), quote(t.geometry), t.srid)
}

// widen returns the statement that makes the column accept the mapped geometries.
func (t *table) widen(how string) string {
	to := t.geometryType()
	if how == "" {
		how = quote(t.geometry)
	}
	actions := fmt.Sprintf("alter column %s type %s using %s", quote(t.geometry), to, how)
	if check := t.geometryCheck(); check != "" {
		actions += ", add " + check
	}
	return t.alter("%s", actions)
}

func (t *table) compareGeometry(own described) []Mismatch {
	c, there := own.column(t.geometry)
	t.cast = c.Type
	one := func(fault, fix string, reach Reach) []Mismatch { return []Mismatch{{t.geometry, fault, fix, reach}} }
	switch {
	case !there:
		return one("is not there (sink.postgis.geometry_column)", t.addGeometry(own), ReachAll)
	case c.Type != "geometry" && c.Type != "geography":
		return one("is of type "+c.Declared+", neither geometry nor geography (sink.postgis.geometry_column)", "name the column of the geometry", ReachAll)
	case c.Made:
		return one("is computed by the database, and takes no geometries", "name another column in sink.postgis.geometry_column", ReachAll)
	}
	found := t.comparePlace(c)
	if c.NotNull && t.expected.noGeometry {
		found = append(found, Mismatch{
			t.geometry, "must have a value, and features may have none: their records become dead letters (transform.geometry.null_geometry)",
			t.alter("alter column %s drop not null", quote(t.geometry)), ReachNone,
		})
	}
	return found
}

// addGeometry returns the statement that adds the column; a single geometry with another name was renamed.
func (t *table) addGeometry(own described) string {
	var others []string
	for _, c := range own.columns {
		if c.Type == "geometry" || c.Type == "geography" {
			others = append(others, c.Name)
		}
	}
	if len(others) == 1 {
		return t.alter("rename column %s to %s", quote(others[0]), quote(t.geometry))
	}
	return t.alter("add column %s", strings.TrimSpace(quote(t.geometry)+" "+t.geometryType()+" "+t.geometryCheck()))
}

func (t *table) comparePlace(c column) (found []Mismatch) {
	add := func(fault, fix string, reach Reach) { found = append(found, Mismatch{t.geometry, fault, fix, reach}) }
	p, name := c.Place, quote(t.geometry)
	if p.SRID != 0 && p.SRID != t.srid {
		fault := fmt.Sprintf("keeps SRID %d, and the mapping gives %d (transform.geometry.target_crs)", p.SRID, t.srid)
		add(fault, t.transformed(c), ReachAll)
	}
	switch {
	case p.measured():
		add("wants measures (M), which no feature has", t.widen("st_force2d("+name+")"), ReachAll)
	case p.flat() && t.expected.heights == allHeights:
		add("takes no heights, and every feature has them (transform.geometry.dimension: require_z)", t.widen("st_force3d("+name+")"), ReachAll)
	case p.tall() && t.expected.heights == noHeights:
		add("wants heights, and the mapping gives none (transform.geometry.dimension)", t.widen("st_force2d("+name+")"), ReachAll)
	case p.flat() && t.expected.heights == someHeights:
		add("takes no heights, and the mapping lets them pass: set transform.geometry.dimension to drop_z or reject_z, or", t.widen(""), ReachRare)
	case p.tall() && t.expected.heights == someHeights:
		add("wants heights, and the mapping lets features without them pass: set transform.geometry.dimension to require_z, or", t.widen(""), ReachRare)
	}
	if fault, reach := t.compareKinds(p); fault != "" {
		add(fault, t.widen(""), reach)
	}
	t.place = p
	return found
}

// transformed returns the statement that changes the SRID of a column; the rest of its type stays.
func (t *table) transformed(c column) string {
	name, to, how := quote(t.geometry), c.Type, "st_transform(%s, %d)"
	if c.Type == "geography" {
		how = "st_transform(%s::geometry, %d)"
	}
	if c.Place.Kind != "" && !c.Place.constrained {
		to = fmt.Sprintf("%s(%s, %d)", c.Type, c.Place.Kind, t.srid)
	}
	fix := t.alter("alter column %s type %s using "+how, name, to, name, t.srid)
	if c.Place.constrained {
		fix = "drop its constraint on st_srid, and " + fix
	}
	return fix
}

// compareKinds compares the geometry types that pass with those that the column accepts.
func (t *table) compareKinds(p place) (fault string, reach Reach) {
	var refused []string
	for _, kind := range t.expected.kinds {
		if !p.takes(kind) {
			refused = append(refused, string(kind))
		}
	}
	switch {
	case len(refused) == 0:
		return "", ReachNone
	case len(refused) == len(t.expected.kinds):
		return fmt.Sprintf("takes %s only, and the mapping gives %s (transform.geometry.types)", p.Kind, strings.Join(refused, ", ")), ReachAll
	default:
		return fmt.Sprintf("takes %s only, and the mapping lets %s pass (transform.geometry.types)", p.Kind, strings.Join(refused, ", ")), ReachSome
	}
}

// keeps returns why the column cannot keep a geometry that the mapping lets pass, so that the record is not at fault.
func (t *table) keeps(g transform.Geometry) (fault string) {
	if g.IsNull() {
		return ""
	}
	switch {
	case g.Z != nil && t.place.flat():
		return "takes no heights"
	case g.Z == nil && t.place.tall():
		return "wants heights"
	case slices.Contains(t.expected.kinds, g.Type()) && !t.place.takes(g.Type()):
		return "takes " + t.place.Kind + " only"
	}
	return ""
}
