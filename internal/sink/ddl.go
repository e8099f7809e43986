package sink

import (
	"fmt"
	"strings"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// DDL returns the statements that create the table of a pipeline and its guard if they are missing. A field of the
// mapping has a column of its type; a value from a remote step has a column of type jsonb, because its type is unknown.
func DDL(cfg *config.Config) (string, error) {
	t, err := newTable(cfg)
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

// indexDDL returns the statement that creates the geometry's index; how is "" or "concurrently ".
func (t *table) indexDDL(how string) string {
	return fmt.Sprintf("create index %sif not exists %s on %s using gist (%s);", how, quote(lastOf(t.name)+"_"+t.geometry), t.quoted, quote(t.geometry))
}

// guardDDL returns the statements that create the guard.
func (t *table) guardDDL() string {
	var columns []string
	for _, c := range t.guardColumns() {
		columns = append(columns, strings.TrimSpace(c.name+" "+c.typ+" "+c.constraint))
	}
	rule := ""
	if t.claims {
		columns, rule = append(columns, claimCheck), fmt.Sprintf(ruleDDL, t.guard, t.rule)
	}
	return fmt.Sprintf(guardDDL, t.guard, t.quoted, strings.Join(columns, ",\n\t")) + rule
}

// claimCheck is the constraint of a guard that stores the row of each key.
const claimCheck = "check (deleted = (row_key is null))"

const guardDDL = `create table if not exists %[1]s (
	%[3]s
) with (fillfactor = 70);
comment on table %[1]s is 'Switchback: which event was written last for each key of %[2]s. Without it an older event could come back.';
`

// ruleDDL stores the rule that finds the rows. The sink refuses a table that another rule filled.
const ruleDDL = "comment on column %s.row_key is 'sink.key: %s';\n"

func lastOf(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

// columnType returns the column type for values of a type; jsonb takes any value.
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
