package sink

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

func quote(name string) string { return pgx.Identifier{name}.Sanitize() }

// compare compares the table and its guard with what will be written, column by column, and stores what statements need
// to know about them. It returns every mismatch, the widest first.
func (t *table) compare(f facts) []Mismatch {
	own, guard := f.own, f.guard
	const ddl = "`consumer sink ddl` prints statements that make it"
	if !own.there {
		return []Mismatch{{Fault: t.name + " is not there, or may not be seen", Fix: ddl, Reach: ReachAll}}
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
		return []Mismatch{{t.key, "is not there (sink.postgis.key_column)", t.alter("add column %s text primary key", quote(t.key)), ReachAll}}
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
		return []Mismatch{{t.rest, "is not there (sink.postgis.rest_column)", t.alter("add column %s jsonb", quote(t.rest)), ReachAll}}
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
			found = append(found, Mismatch{name, "is not there (sink.postgis.keep_columns)", "remove it from the list, or " + t.alter("add column %s …", quote(name)), ReachAll})
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
		fault := "is not there, and there is no sink.postgis.rest_column for the property"
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
		return []Mismatch{{Fault: "its guard " + name + " is not there", Fix: ddl, Reach: ReachAll}}
	}
	for _, want := range t.guardColumns() {
		c, there := guard.column(want.name)
		switch {
		case !there && want.name == rowKeyColumn, there && want.name == rowKeyColumn && c.Comment != t.filledBy():
			found = append(found, t.otherRule(c))
		case !there:
			found = append(found, Mismatch{name + "." + want.name, "is not there", fmt.Sprintf("alter table %s add column %s %s;", t.guard, want.name, want.typ), ReachAll})
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
