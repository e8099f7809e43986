package sink

import (
	"fmt"
	"strings"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// DDL gives the statements that make the table of a pipeline, and its guard, where they are not there yet. A field of the
// mapping has a column of its type; what a remote step fills in has one of type jsonb, since nothing says more about it.
func DDL(cfg *config.Config) (string, error) {
	c := cfg.Sink.PostGIS
	t, err := newTable(c, cfg.Sink.Key, cfg.Transform, cfg.Enrich)
	if err != nil {
		return "", err
	}
	return "create extension if not exists postgis;\n" + t.tableDDL() + "\n" + t.indexDDL("") + "\n" + t.guardDDL(), nil
}

func (t *table) tableDDL() string {
	geometry := strings.TrimSpace(quote(t.geometry) + " " + t.geometryType() + " " + t.geometryCheck())
	columns := []string{quote(t.key) + " text primary key", geometry}
	for _, name := range t.expected.names() {
		if !t.special(name) {
			columns = append(columns, quote(name)+" "+t.expected.properties[name].column())
		}
	}
	if t.rest != "" {
		columns = append(columns, quote(t.rest)+" jsonb not null")
	}
	return fmt.Sprintf("create table if not exists %s (\n\t%s\n);", t.quoted, strings.Join(columns, ",\n\t"))
}

// indexDDL makes the index of the geometry; how is "" or concurrently.
func (t *table) indexDDL(how string) string {
	return fmt.Sprintf("create index %sif not exists %s on %s using gist (%s);", how, quote(lastOf(t.name)+"_"+t.geometry), t.quoted, quote(t.geometry))
}

func (t *table) guardDDL() string {
	var claims, rule string
	if t.claims {
		claims = ",\n\trow_key text unique,\n\tformer_key text,\n\tcheck (deleted = (row_key is null))"
		rule = fmt.Sprintf(ruleDDL, t.guard, t.rule)
	}
	return fmt.Sprintf(guardDDL, t.guard, t.quoted, claims) + rule
}

const guardDDL = `create table if not exists %s (
	key text primary key,
	number bigint not null,
	source_offset bigint not null,
	deleted boolean not null,
	delete_offset bigint not null,
	content_hash text not null,
	source text not null,
	written_at timestamptz not null%[3]s
) with (fillfactor = 70);
comment on table %[1]s is 'Switchback: which event was written last for each key of %[2]s. Without it an older event could come back.';
`

// ruleDDL notes by which rule the rows were found; a table that was filled by another one is refused.
const ruleDDL = "comment on column %s.row_key is 'sink.key: %s';\n"

func lastOf(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

// columnType is the type of the column for values of a type; jsonb takes any.
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
