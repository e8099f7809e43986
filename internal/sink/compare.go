package sink

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/switchback-geo/switchback/pkg/transform"
)

func quote(name string) string { return pgx.Identifier{name}.Sanitize() }

// compare compares the table and its guard with what will be written, column by column, and stores what statements need
// to know about them. It returns every mismatch, the widest first.
func (t *table) compare(f facts) []Mismatch {
	own, guard := f.own, f.guard
	const ddl = "`consumer sink ddl` prints statements that make it"
	if !own.there {
		return []Mismatch{{Fault: t.name + " does not exist, or this user may not see it", Fix: ddl, Reach: ReachAll}}
	}
	var found []Mismatch
	if own.placeless {
		found = append(found, Mismatch{Fault: "it is partitioned and has no partition, so no row has a place", Fix: "create table … partition of " + t.quoted + " …;", Reach: ReachAll})
	}
	found = append(found, t.compareKey(own)...)
	found = append(found, t.compareGeometry(own)...)
	found = append(found, t.compareRest(own)...)
	found = append(found, t.compareKept(own)...)
	found = append(found, t.compareProperties(own)...)
	found = append(found, t.compareGuard(guard, ddl)...)
	found = append(found, privileges(t.quoted, own.lacks)...)
	if guard.there {
		found = append(found, privileges(t.guard, guard.lacks)...)
	}
	if !f.temporary {
		found = append(found, privileges("database "+quote(f.database), []string{"temporary"})...)
	}
	slices.SortStableFunc(found, func(a, b Mismatch) int {
		return slices.Index(Reaches(), a.Reach) - slices.Index(Reaches(), b.Reach)
	})
	return found
}

func (t *table) alter(format string, args ...any) string {
	return "alter table " + t.quoted + " " + fmt.Sprintf(format, args...) + ";"
}

func (t *table) compareKey(own described) []Mismatch {
	key, there := own.column(t.key)
	t.keyColumn, t.keyType = key, key.Written
	switch {
	case !there:
		return []Mismatch{{t.key, "does not exist (sink.postgis.key_column)", t.alter("add column %s text primary key", quote(t.key)), ReachAll}}
	case key.Made:
		return []Mismatch{{t.key, "is made by the database, and takes no keys", t.alter("alter column %s drop identity if exists", quote(t.key)), ReachAll}}
	case !key.Unique && own.kind == partitioned && !slices.Equal(own.partitionedBy, []string{t.key}):
		return []Mismatch{{t.key, "is not unique (sink.postgis.key_column), and cannot be in a table that is partitioned by something else", "make a table that is partitioned by " + quote(t.key) + ", or not at all", ReachAll}}
	case !key.Unique:
		return []Mismatch{{t.key, "is not unique (sink.postgis.key_column)", t.alter("add unique (%s)", quote(t.key)), ReachAll}}
	}
	return nil
}

func (t *table) compareRest(own described) []Mismatch {
	if t.rest == "" {
		return nil
	}
	rest, there := own.column(t.rest)
	switch {
	case !there:
		return []Mismatch{{t.rest, "does not exist (sink.postgis.rest_column)", t.alter("add column %s jsonb", quote(t.rest)), ReachAll}}
	case rest.Type != "jsonb":
		return []Mismatch{{t.rest, "is of type " + rest.Declared + ", not jsonb (sink.postgis.rest_column)", t.alter("alter column %s type jsonb using to_jsonb(%[1]s)", quote(t.rest)), ReachAll}}
	}
	return nil
}

// compareKept compares the columns of others: a misspelt name would be emptied, and a mandatory column keeps rows out.
func (t *table) compareKept(own described) (found []Mismatch) {
	for _, name := range t.kept {
		switch c, there := own.column(name); {
		case !there:
			found = append(found, Mismatch{name, "does not exist (sink.postgis.keep_columns)", "remove it from the list, or " + t.alter("add column %s …", quote(name)), ReachAll})
		case c.NotNull && !c.Default && !c.Made:
			found = append(found, Mismatch{name, "must have a value, has no default, and is not written (sink.postgis.keep_columns)", t.alter("alter column %s drop not null", quote(name)), ReachAll})
		}
	}
	return found
}

// compareProperties compares the columns for properties with the properties that the configuration names.
func (t *table) compareProperties(own described) (found []Mismatch) {
	t.columns, t.forms, t.index, t.unfit = nil, nil, map[string]int{}, map[string]string{}
	for _, c := range own.columns {
		if t.special(c.Name) || c.Made {
			continue
		}
		t.index[c.Name], t.columns, t.forms = len(t.columns), append(t.columns, c), append(t.forms, c.form())
		p, named := t.expected.properties[c.Name]
		if c.NotNull && (!named || !p.always) {
			found = append(found, t.mustHaveValue(c, named))
		}
		if fault, reach := p.misfit(c); fault != "" {
			if reach == ReachSome {
				t.unfit[c.Name] = fault
			}
			found = append(found, Mismatch{c.Name, fault, t.alter("alter column %s type %s using %[1]s::text::%[2]s", quote(c.Name), p.column()), reach})
		}
	}
	for _, name := range t.expected.names() {
		c, there := own.column(name)
		if name == t.key || t.rest != "" || there && !c.Made && !t.special(name) {
			continue
		}
		fault := "does not exist, and there is no sink.postgis.rest_column for the property"
		fix := t.alter("add column %s %s", quote(name), t.expected.properties[name].column())
		if there {
			fault, fix = "is not for the property of this name, and there is no sink.postgis.rest_column", "map the property to another name"
		}
		t.unfit[name] = fault
		found = append(found, Mismatch{name, fault, fix, ReachSome})
	}
	return found
}

// special reports whether a column is used for something else than the property of its name.
func (t *table) special(name string) bool {
	return name == t.key || name == t.geometry || name == t.rest || slices.Contains(t.kept, name)
}

func (t *table) mustHaveValue(c column, named bool) Mismatch {
	fix := t.alter("alter column %s drop not null", quote(c.Name))
	if !named && c.Default {
		fix = "name the column in sink.postgis.keep_columns, so that the database gives its value"
	}
	if !named && !t.expected.others {
		return Mismatch{c.Name, "must have a value, and the mapping gives none", fix, ReachAll}
	}
	return Mismatch{c.Name, "must have a value, and features may have none: their records become dead letters", fix, ReachNone}
}

// compareGuard compares the columns of the guard.
func (t *table) compareGuard(guard described, ddl string) (found []Mismatch) {
	name := t.guardName()
	if !guard.there {
		return []Mismatch{{Fault: "its guard " + name + " does not exist", Fix: ddl, Reach: ReachAll}}
	}
	for _, want := range t.guardColumns() {
		c, there := guard.column(want.name)
		switch {
		case !there && want.name == rowKeyColumn, there && want.name == rowKeyColumn && c.Comment != t.filledBy():
			found = append(found, t.otherRule(c))
		case !there:
			found = append(found, Mismatch{name + "." + want.name, "does not exist", fmt.Sprintf("alter table %s add column %s %s;", t.guard, want.name, want.typ), ReachAll})
		case c.Written != want.typ:
			found = append(found, Mismatch{name + "." + want.name, "is of type " + c.Written + ", not " + want.typ, fmt.Sprintf("alter table %s alter column %s type %s;", t.guard, want.name, want.typ), ReachAll})
		case want.name == "key" && !c.Unique:
			found = append(found, Mismatch{name + "." + want.name, "is not unique", fmt.Sprintf("alter table %s add primary key (key);", t.guard), ReachAll})
		}
	}
	if c, there := guard.column(rowKeyColumn); there && !t.claims {
		found = append(found, t.otherRule(c))
	}
	return found
}

func privileges(quoted string, lacks []string) []Mismatch {
	if len(lacks) == 0 {
		return nil
	}
	list := strings.Join(lacks, ", ")
	return []Mismatch{{Fault: "this user lacks " + list + " on " + quoted, Fix: fmt.Sprintf("grant %s on %s to …;", list, quoted), Reach: ReachAll}}
}

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
		return one("does not exist (sink.postgis.geometry_column)", t.addGeometry(own), ReachAll)
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
