package sink

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// DDL gives the statements that make the table of a pipeline, and its guard, where they are not there yet. A field of the
// mapping has a column of its type; what a remote step fills in has one of type jsonb, since nothing says more about it.
func DDL(cfg *config.Config) (string, error) {
	c := cfg.Sink.PostGIS
	t, err := newTable(c, cfg.Transform)
	if err != nil {
		return "", err
	}
	quote := func(name string) string { return pgx.Identifier{name}.Sanitize() }
	columns := []string{quote(t.key) + " text primary key", fmt.Sprintf("%s geometry(Geometry, %d)", quote(t.geometry), t.srid)}
	types := columnTypes(cfg)
	for _, name := range slices.Sorted(maps.Keys(types)) {
		if name != t.key && name != t.geometry && name != t.rest && !slices.Contains(t.kept, name) {
			columns = append(columns, quote(name)+" "+types[name])
		}
	}
	if t.rest != "" {
		columns = append(columns, quote(t.rest)+" jsonb not null")
	}
	var out strings.Builder
	out.WriteString("create extension if not exists postgis;\n")
	fmt.Fprintf(&out, "create table if not exists %s (\n\t%s\n);\n", t.quoted, strings.Join(columns, ",\n\t"))
	fmt.Fprintf(&out, "create index if not exists %s on %s using gist (%s);\n", quote(lastOf(c.Table)+"_"+t.geometry), t.quoted, quote(t.geometry))
	fmt.Fprintf(&out, guardDDL, t.guard, t.quoted)
	return out.String(), nil
}

const guardDDL = `create table if not exists %s (
	key text primary key,
	number bigint not null,
	source_offset bigint not null,
	deleted boolean not null,
	delete_offset bigint not null,
	content_hash text not null,
	source text not null,
	written_at timestamptz not null
);
comment on table %[1]s is 'Switchback: which event was written last for each key of %[2]s. Without it an older event could come back.';
`

func lastOf(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

// columnTypes gives the type of each property that the configuration names.
func columnTypes(cfg *config.Config) map[string]string {
	types := map[string]string{}
	for _, f := range cfg.Transform.Fields {
		types[f.To] = columnType(f.Type)
	}
	for name := range cfg.Transform.Constants {
		types[name] = "jsonb"
	}
	for _, step := range cfg.Enrich {
		for name := range step.Set {
			if _, known := types[name]; !known {
				types[name] = "jsonb"
			}
		}
		if step.SetProvider != "" {
			types[step.SetProvider] = "text"
		}
	}
	return types
}

func columnType(t transform.Type) string {
	switch t {
	case transform.TypeString, transform.TypeEnum:
		return "text"
	case transform.TypeInteger:
		return "bigint"
	case transform.TypeNumber:
		return "double precision"
	case transform.TypeDecimal:
		return "numeric"
	case transform.TypeBoolean:
		return "boolean"
	case transform.TypeDate:
		return "date"
	case transform.TypeDateTime:
		return "timestamptz"
	default:
		return "jsonb"
	}
}
