package sink

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/postgres"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/crs"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// table is what is known of the table.
type table struct {
	name     string // as the configuration has it
	quoted   string
	guard    string // quoted
	key      string
	geometry string
	rest     string   // "" for none
	kept     []string // by others
	srid     int      // of the mapping's output

	columns []string // that properties go into
	keyType string
	cast    string // of the geometry: geometry or geography
}

func newTable(c *config.PostGISSink, mapping transform.Config) (*table, error) {
	srid, err := sridOf(mapping.Geometry.TargetCRS)
	if err != nil {
		return nil, err
	}
	name := strings.Split(c.Table, ".")
	last := len(name) - 1
	guard := append(slices.Clone(name[:last]), name[last]+config.GuardSuffix)
	return &table{
		name: c.Table, quoted: pgx.Identifier(name).Sanitize(), guard: pgx.Identifier(guard).Sanitize(),
		key: c.KeyColumn, geometry: c.GeometryColumn, rest: c.RestColumn, kept: c.KeepColumns, srid: srid, cast: "geometry",
	}, nil
}

// sridOf is the EPSG code of a coordinate reference system, which PostGIS calls SRID. CRS84 has the coordinates of EPSG:4326
// in the order in which PostGIS keeps them.
func sridOf(name string) (int, error) {
	if name == "" {
		return 4326, nil
	}
	system, err := crs.Lookup(name)
	if err != nil {
		return 0, err
	}
	srid := 4326
	if _, err := fmt.Sscanf(system.Code(), "EPSG:%d", &srid); err != nil && !strings.HasSuffix(system.Code(), "CRS84") {
		return 0, fmt.Errorf("transform.geometry.target_crs: %s has no SRID", system.Code())
	}
	return srid, nil
}

// column is one column of the table in the database.
type column struct {
	Name, Type   string
	Written      string // the type as SQL writes it, without a length: a cast would cut what is longer, and make one key of two
	Made, Unique bool   // made by the database; alone in a unique index
	SRID         int
}

const askColumns = `
select a.attname, t.typname, format_type(a.atttypid, -1), a.attgenerated <> '' or a.attidentity = 'a',
	exists (select from pg_index i where i.indrelid = a.attrelid and i.indisunique and i.indimmediate and i.indisvalid and i.indpred is null and i.indnkeyatts = 1 and i.indkey[0] = a.attnum),
	case when t.typname in ('geometry', 'geography') and a.atttypmod >= 0 then postgis_typmod_srid(a.atttypmod) else 0 end
from pg_attribute a join pg_type t on t.oid = a.atttypid
where a.attrelid = to_regclass($1) and a.attnum > 0 and not a.attisdropped order by a.attnum`

// TableError says what a table must have and has not.
type TableError struct{ Table, Fault string }

// Error says it, and what prints statements that make the table.
func (e *TableError) Error() string {
	return fmt.Sprintf("sink.postgis: table %s %s; `consumer sink ddl` prints statements that make it", e.Table, e.Fault)
}

// read completes the table with what the database says. The errors are *TableError and those of the database.
func (t *table) read(ctx context.Context, db *postgres.Database) error {
	columns, err := columnsOf(ctx, db, t.quoted)
	if err != nil {
		return err
	}
	if fault := t.take(columns); fault != "" {
		return &TableError{t.name, fault}
	}
	guard, err := columnsOf(ctx, db, t.guard)
	if err != nil {
		return err
	}
	for _, name := range guardColumns() {
		if !slices.ContainsFunc(guard, func(c column) bool { return c.Name == name }) {
			return &TableError{t.name + config.GuardSuffix, "is not there, or has no column " + name}
		}
	}
	return nil
}

func columnsOf(ctx context.Context, db *postgres.Database, quoted string) ([]column, error) {
	rows, err := db.Query(ctx, askColumns, quoted)
	if err != nil {
		return nil, db.Lost(err)
	}
	columns, err := pgx.CollectRows(rows, pgx.RowToStructByPos[column])
	if err != nil {
		return nil, db.Lost(err)
	}
	return columns, nil
}

// take holds the columns against what the configuration names. It gives the fault, or "".
func (t *table) take(columns []column) (fault string) {
	if len(columns) == 0 {
		return "is not there, or may not be seen"
	}
	t.columns = nil
	known := map[string]column{}
	for _, c := range columns {
		known[c.Name] = c
		if c.Name != t.key && c.Name != t.geometry && c.Name != t.rest && !c.Made && !slices.Contains(t.kept, c.Name) {
			t.columns = append(t.columns, c.Name)
		}
	}
	place := known[t.geometry]
	switch {
	case !known[t.key].Unique:
		return fmt.Sprintf("has no column %q that is its primary key, or is unique (sink.postgis.key_column)", t.key)
	case place.Type != "geometry" && place.Type != "geography":
		return fmt.Sprintf("has no column %q of type geometry or geography (sink.postgis.geometry_column)", t.geometry)
	case place.SRID != 0 && place.SRID != t.srid:
		return fmt.Sprintf("keeps SRID %d in %q, and the mapping gives %d (transform.geometry.target_crs)", place.SRID, t.geometry, t.srid)
	case t.rest != "" && known[t.rest].Type != "jsonb":
		return fmt.Sprintf("has no column %q of type jsonb (sink.postgis.rest_column)", t.rest)
	}
	for _, name := range t.kept { // a misspelt one would be emptied
		if _, there := known[name]; !there {
			return fmt.Sprintf("has no column %q (sink.postgis.keep_columns)", name)
		}
	}
	t.keyType, t.cast = known[t.key].Written, place.Type
	return ""
}

// FailureCode makes it a failure of the table and not of a record.
func (e *TableError) FailureCode() classify.Code { return classify.CodeDBSchema }

// FailureStage is that of the sink.
func (e *TableError) FailureStage() classify.Stage { return classify.StageSink }
