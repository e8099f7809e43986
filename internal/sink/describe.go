package sink

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/switchback-geo/switchback/internal/postgres"
)

// column is one column of a table in the database.
type column struct {
	Name     string
	Type     string // the name of the type; for a domain that of its base
	Written  string // the type in SQL without a length, for a domain its base: a cast would cut longer values, and turn two keys into one
	Declared string // the same with the length
	Made     bool   // by the database: generated, or an identity column
	Unique   bool   // alone in a unique index that can decide a conflict
	NotNull  bool
	Default  bool       // the database has a value for a row without one: a default, or an identity
	Parts    bool       // composed: an array, a composite
	values   *valueType // its values' type, with the members of composites
	Comment  string
	Place    place // of a geometry or a geography
}

// described is the database's description of a table.
type described struct {
	there   bool
	kind    string // in pg_class: r for a table, p for a partitioned one, f and v for a foreign one and a view
	columns []column
	// partitionedBy are the columns that partition the table.
	partitionedBy []string
	placeless     bool     // partitioned, and without a partition that accepts rows
	lacks         []string // privileges that this user lacks
}

const askTable = `
select c.oid is not null, coalesce((select k.relkind::text from pg_class k where k.oid = c.oid), ''),
	coalesce((select array_agg(a.attname::text order by a.attnum) from pg_partitioned_table p join pg_attribute a on a.attrelid = p.partrelid and a.attnum = any (p.partattrs) where p.partrelid = c.oid), '{}'),
	coalesce((select k.relkind = 'p' and not exists (select from pg_partition_tree(k.oid) where isleaf and relid <> k.oid) from pg_class k where k.oid = c.oid), false),
	coalesce((select array_agg(p order by n) from unnest(array['select', 'insert', 'update', 'delete']) with ordinality as w(p, n)
		where not has_table_privilege(c.oid, p) and not (p <> 'delete' and has_any_column_privilege(c.oid, p))), '{}')
from (select to_regclass($1) as oid) c`

const askColumns = `
select a.attname, b.typname, format_type(b.oid, -1), format_type(a.atttypid, a.atttypmod), a.attgenerated <> '' or a.attidentity = 'a',
	exists (select from pg_index i where i.indrelid = a.attrelid and i.indisunique and i.indimmediate and i.indisvalid and i.indpred is null and i.indnkeyatts = 1 and i.indkey[0] = a.attnum),
	a.attnotnull, a.atthasdef or a.attidentity <> '', coalesce(col_description(a.attrelid, a.attnum), ''), b.typcategory in ('A', 'C'), inside.parts,
	case when t.typname in ('geometry', 'geography') and a.atttypmod >= 0 then coalesce(postgis_typmod_srid(a.atttypmod), 0) else 0 end,
	case when t.typname in ('geometry', 'geography') and a.atttypmod >= 0 then coalesce(postgis_typmod_dims(a.atttypmod), 0) else 0 end,
	case when t.typname in ('geometry', 'geography') and a.atttypmod >= 0 then coalesce(postgis_typmod_type(a.atttypmod), '') else '' end,
	coalesce((select array_agg(pg_get_constraintdef(k.oid)) from pg_constraint k where k.conrelid = a.attrelid and k.contype = 'c' and k.conkey = array[a.attnum]), '{}')
from pg_attribute a join pg_type t on t.oid = a.atttypid
cross join lateral (with recursive d as (select t.oid, t.typbasetype union all select x.oid, x.typbasetype from d join pg_type x on x.oid = d.typbasetype)
	select d.oid from d where d.typbasetype = 0) base join pg_type b on b.oid = base.oid
cross join lateral (with recursive i as (select b.oid, null::name as name, null::oid as parent
		union select x.oid, x.name, i.oid from i join pg_type y on y.oid = i.oid cross join lateral (
		select y.typbasetype as oid, null::name as name where y.typtype = 'd'
		union all select y.typelem, null where y.typcategory = 'A'
		union all select r.rngsubtype, null from pg_range r where y.oid::text in (r.rngtypid::text, to_jsonb(r) ->> 'rngmultitypid')
		union all select p.atttypid, p.attname from pg_attribute p where y.typtype = 'c' and p.attrelid = y.typrelid and p.attnum > 0 and not p.attisdropped) x)
	select jsonb_agg(distinct jsonb_build_object('oid', i.oid::bigint, 'type', z.typname, 'parent', i.parent::bigint, 'name', i.name))::text as parts
	from i join pg_type z on z.oid = i.oid) inside
where a.attrelid = to_regclass($1) and a.attnum > 0 and not a.attisdropped order by a.attnum`

// facts are the database's descriptions of a table, its guard and itself.
type facts struct {
	own, guard described
	database   string
	temporary  bool // this user may create temporary tables
}

// namesAsTheyAre makes the database write a type by its plain name, whatever its settings. It holds for one exchange.
const namesAsTheyAre = "select set_config('quote_all_identifiers', 'off', true)"

const askDatabase = "select current_database(), has_database_privilege(current_database(), 'temporary')"

// describe reads the descriptions of the table and its guard, in one exchange. It does not wait for a lock on them.
func describe(ctx context.Context, db *postgres.Database, table, guard string) (f facts, err error) {
	var ask pgx.Batch
	ask.Queue(namesAsTheyAre)
	ask.Queue(askDatabase).QueryRow(func(row pgx.Row) error { return row.Scan(&f.database, &f.temporary) })
	for name, into := range map[string]*described{table: &f.own, guard: &f.guard} {
		ask.Queue(askTable, name).QueryRow(func(row pgx.Row) error {
			return row.Scan(&into.there, &into.kind, &into.partitionedBy, &into.placeless, &into.lacks)
		})
		ask.Queue(askColumns, name).Query(func(rows pgx.Rows) error {
			var err error
			into.columns, err = pgx.CollectRows(rows, scanColumn)
			return err
		})
	}
	return f, db.Lost(db.SendBatch(ctx, &ask).Close())
}

func scanColumn(row pgx.CollectableRow) (c column, err error) {
	var checks []string
	var parts string
	err = row.Scan(&c.Name, &c.Type, &c.Written, &c.Declared, &c.Made, &c.Unique, &c.NotNull, &c.Default, &c.Comment, &c.Parts, &parts, &c.Place.SRID, &c.Place.Dims, &c.Place.Kind, &checks)
	for _, check := range checks {
		c.Place.constrain(check)
	}
	if err == nil {
		c.values, err = newValueType(parts)
	}
	return c, err
}

func (d described) column(name string) (column, bool) {
	i := slices.IndexFunc(d.columns, func(c column) bool { return c.Name == name })
	if i < 0 {
		return column{}, false
	}
	return d.columns[i], true
}
