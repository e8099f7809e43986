package sink

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/postgres"
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

// added lists the missing columns: those of the properties that the configuration names, and the rest column.
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

// Ensured lists what was created, or would be.
type Ensured struct {
	Statements []string
	// Left are mismatches that creating something does not remove: statements that change existing objects are for a
	// person.
	Left []Mismatch
}

// Ensure creates the missing parts of the table, its guard and its columns, and changes nothing else, in one transaction
// except for an index on a table with rows. It may be repeated, also after an interruption. Without execute it only
// returns what it would do; Left is then what is known of an existing table.
func Ensure(ctx context.Context, cfg *config.Config, execute bool) (done Ensured, err error) {
	t, db, err := openDDL(cfg)
	if err != nil {
		return done, err
	}
	defer db.Close()
	e, err := t.existing(ctx, db)
	if err != nil {
		return done, fmt.Errorf("read the description of table %s: %w", t.name, err)
	}
	now, later := t.steps(cfg, e)
	done.Statements = append(slices.Clone(now), later...)
	if execute && len(done.Statements) > 0 {
		if err := makeAll(ctx, db, t.name, now, later); err != nil {
			return done, err
		}
		if e, err = t.existing(ctx, db); err != nil {
			return done, fmt.Errorf("read the description of table %s: %w", t.name, err)
		}
	}
	if e.own.there && e.guard.there {
		done.Left = slices.DeleteFunc(t.compare(e.facts), func(m Mismatch) bool { return !m.refuses() || !execute && t.makes(m, e) })
	}
	return done, nil
}

// openDDL opens the database for statements that change the table itself. They wait for locks no longer than
// sink.postgis.timeout.
func openDDL(cfg *config.Config) (*table, *postgres.Database, error) {
	c := cfg.Sink.PostGIS
	t, err := newTable(cfg)
	if err != nil {
		return nil, nil, err
	}
	db, err := postgres.Open(c.DSN, postgres.Options{
		Key: "sink.postgis", Timeout: c.Timeout.Std(), MaxConnections: 1,
		Parameters: map[string]string{"lock_timeout": strconv.FormatInt(c.Timeout.Std().Milliseconds(), 10)},
	})
	return t, db, err
}

// makes reports whether an added column removes a mismatch.
func (t *table) makes(m Mismatch, e existing) bool { return slices.Contains(t.added(e.own), m.Column) }

const (
	askPostGIS = "select exists (select from pg_extension where extname = 'postgis')"
	askIndexed = `select exists (select from pg_index i join pg_class c on c.oid = i.indexrelid join pg_am m on m.oid = c.relam
	join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0]
	where i.indrelid = to_regclass($1) and i.indisvalid and m.amname = 'gist' and a.attname = $2)`
)

// existing reads the existing objects. Without PostGIS there can be no table, and nothing else is read.
func (t *table) existing(ctx context.Context, db *postgres.Database) (e existing, err error) {
	if err := db.QueryRow(ctx, askPostGIS).Scan(&e.postgis); err != nil || !e.postgis {
		return e, db.Lost(err)
	}
	if e.facts, err = describe(ctx, db, t.quoted, t.guard); err != nil {
		return e, err
	}
	return e, db.Lost(db.QueryRow(ctx, askIndexed, t.quoted, t.geometry).Scan(&e.indexed))
}

// ensureLock keeps two runs from creating the same objects at once; the number is arbitrary.
const ensureLock = "select pg_advisory_xact_lock(7302114935)"

func makeAll(ctx context.Context, db *postgres.Database, table string, now, later []string) error {
	err := pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, ensureLock); err != nil {
			return err
		}
		for _, statement := range now {
			if _, err := tx.Exec(ctx, statement); err != nil {
				return stated(table, statement, err)
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("nothing was created: %w", db.Lost(err))
	}
	for _, statement := range later {
		_, err := db.Exec(ctx, statement)
		if pgErr, ok := errors.AsType[*pgconn.PgError](err); ok && pgErr.Code == notSupported { // for example a TimescaleDB hypertable, which looks like an ordinary table
			_, err = db.Exec(ctx, strings.Replace(statement, "index concurrently ", "index ", 1))
		}
		if err != nil {
			return fmt.Errorf("everything else was created: %w", db.Lost(stated(table, statement, err)))
		}
	}
	return nil
}

// notSupported is the SQLSTATE of an operation that a kind of table does not support.
const notSupported = "0A000"

// stated adds the failed statement to an error, and who may run it.
func stated(table, statement string, err error) error {
	first, _, _ := strings.Cut(statement, "\n")
	err = fmt.Errorf("%s: %w", strings.TrimSuffix(first, " ("), err)
	if pgErr, ok := errors.AsType[*pgconn.PgError](err); ok && pgErr.Code == "42501" {
		return fmt.Errorf("%w; run it as the owner of %s, or as a user who may create in its schema: `consumer sink ensure` without --execute prints the statements", err, table)
	}
	return err
}

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
