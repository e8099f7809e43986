package sink

import (
	"fmt"
	"slices"
	"strings"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// existing is the part of a table that exists already.
type existing struct {
	postgis bool
	indexed bool // the geometry, by GiST
	facts
}

// steps returns the statements that create the missing parts and change nothing else. Statements in later run outside of
// a transaction, because they would lock a table with rows for long.
func (t *table) steps(cfg *config.Config, e existing) (now, later []string) {
	if !e.postgis {
		now = append(now, "create extension if not exists postgis;")
	}
	if !e.own.there {
		now = append(now, t.tableDDL(), t.indexDDL(""))
		now = append(now, t.comments(cfg, append(t.expected.names(), t.geometry))...)
	} else {
		added := t.added(e.own)
		for _, name := range added {
			now = append(now, t.alter("add column if not exists %s %s", quote(name), t.newColumn(name)))
		}
		now = append(now, t.comments(cfg, added)...)
		if _, there := e.own.column(t.geometry); there && !e.indexed {
			later = append(later, t.indexLater(e.own.kind)...)
		}
	}
	if !e.guard.there {
		now = append(now, strings.TrimSpace(t.guardDDL()))
	}
	return now, later
}

// indexLater returns the statement that creates the index of a table with rows. The index of a partitioned table cannot
// be created concurrently, and a view or a foreign table has none.
func (t *table) indexLater(kind string) []string {
	switch kind {
	case "r":
		return []string{t.indexDDL("concurrently ")}
	case partitioned:
		return []string{t.indexDDL("")}
	}
	return nil
}

// partitioned is the kind of a partitioned table in pg_class.
const partitioned = "p"

// added lists the missing columns: of the properties that the configuration names, and of the rest.
func (t *table) added(own described) (names []string) {
	wanted := slices.DeleteFunc(t.expected.names(), t.special)
	if t.rest != "" {
		wanted = append(wanted, t.rest)
	}
	for _, name := range wanted {
		if _, there := own.column(name); !there {
			names = append(names, name)
		}
	}
	return names
}

// newColumn returns the type of an added column, for which existing rows have no value.
func (t *table) newColumn(name string) string {
	if name == t.rest {
		return "jsonb"
	}
	return t.expected.properties[name].column()
}

// comments returns the comments of the table and its columns about their origin.
func (t *table) comments(cfg *config.Config, columns []string) (out []string) {
	sources := sourcesOf(cfg)
	for _, name := range columns {
		text := sources[name]
		if name == t.geometry {
			text = fmt.Sprintf("the geometry, SRID %d", t.srid)
		}
		if text != "" && (name == t.geometry || !t.special(name)) {
			out = append(out, fmt.Sprintf("comment on column %s.%s is %s;", t.quoted, quote(name), literal("Switchback: "+text)))
		}
	}
	if slices.Contains(columns, t.geometry) {
		text := fmt.Sprintf("Switchback: the newest state of each feature in topic %s of pipeline %s, found by %s", cfg.Output.Topic, cfg.Pipeline.ID, t.rule)
		out = append(out, fmt.Sprintf("comment on table %s is %s;", t.quoted, literal(text)))
	}
	return out
}

// sourcesOf returns the origin of each property.
func sourcesOf(cfg *config.Config) map[string]string {
	out := map[string]string{}
	for _, step := range cfg.Enrich {
		for name, at := range step.Set {
			out[name] = fmt.Sprintf("%s of step %s", at, step.Name)
		}
		if step.SetProvider != "" {
			out[step.SetProvider] = "the provider of step " + step.Name
		}
	}
	for name := range cfg.Transform.Constants {
		out[name] = "a constant"
	}
	for _, f := range cfg.Transform.Fields {
		from := "from property " + f.To
		switch {
		case f.Expr != "":
			from = "computed by an expression"
		case f.From != "":
			from = "from property " + f.From
		}
		out[f.To] = typedAs(from, f.Type)
	}
	return out
}

func typedAs(from string, t transform.Type) string {
	if t == "" {
		return from
	}
	return from + ", " + string(t)
}

// literal quotes a text for SQL.
func literal(text string) string {
	quoted := "'" + strings.ReplaceAll(text, "'", "''") + "'"
	if strings.Contains(quoted, `\`) {
		return "E" + strings.ReplaceAll(quoted, `\`, `\\`)
	}
	return quoted
}
