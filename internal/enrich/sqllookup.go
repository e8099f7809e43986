package enrich

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/paulmach/orb"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/postgres"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// sqlLookup asks one PostgreSQL database. Values are parameters of the query and never part of its text, in a transaction
// that only reads.
type sqlLookup struct {
	db    *postgres.Database
	begin string
	query string
	args  []string
	rows  int
	limit int // largest answer, in bytes
}

// messageBytes is the size of a server message besides its row, and of an error or a notice.
const messageBytes = 1 << 20

// newSQLLookup reads the connection string and connects at the first query.
func newSQLLookup(s *config.SQLLookup) (*sqlLookup, error) {
	source := func() (config.Secret, error) { return s.DSN("sql") }
	if _, err := source(); err != nil {
		return nil, err
	}
	db, err := postgres.Open(source, postgres.Options{Key: "sql", Timeout: s.Timeout.Std(), MaxConnections: s.MaxConnections, MaxMessage: s.MaxResponseBytes + messageBytes})
	if err != nil {
		return nil, err
	}
	return &sqlLookup{
		db:    db,
		begin: fmt.Sprintf("begin read only; set local statement_timeout = %d", postgres.StatementTimeout(s.Timeout.Std()).Milliseconds()),
		query: wrap(s.Query, s.MaxRows, s.MaxResponseBytes),
		args:  s.Args, rows: s.MaxRows, limit: s.MaxResponseBytes,
	}, nil
}

// wrap returns a query whose rows are JSON objects, at most one row more than is wanted. The server replaces a row that is too large by
// null, so that it is never sent.
func wrap(query string, rows, limit int) string {
	return fmt.Sprintf("select case when octet_length(answer.row) <= %d then answer.row end from (select to_jsonb(asked)::text as row from (\n%s\n) asked limit %d) answer",
		limit, query, rows+1)
}

func (l *sqlLookup) close() { l.db.Close() }

// prepare takes the arguments from the feature.
func (l *sqlLookup) prepare(f *transform.Feature, _ string) (question, error) {
	args := make([]any, len(l.args))
	var key strings.Builder
	for i, name := range l.args {
		text, err := argument(f, name)
		if err != nil {
			return question{}, err
		}
		args[i] = text // as text, which the server reads as the type of the parameter
		fmt.Fprintf(&key, "%d:%s", len(text), text)
	}
	return question{
		key: key.String(), what: l.db.What, asks: classify.Request{URL: l.db.URL},
		send: func(ctx context.Context) (transform.Value, QuotaAdvice, error) {
			value, err := l.send(ctx, args)
			return value, QuotaAdvice{}, err
		},
	}, nil
}

// argument returns the text of id, properties.name or geometry.
func argument(f *transform.Feature, name string) (string, error) {
	if name != "geometry" {
		return textOf(f, name)
	}
	if f.Geometry.IsNull() {
		return "", failed(classify.CodeMissingRequired, "the feature has no geometry, which the request needs")
	}
	return string(geometryValue(f.Geometry.Shape).AppendJSON(nil)), nil
}

// send runs the query and returns its answer.
func (l *sqlLookup) send(ctx context.Context, args []any) (transform.Value, error) {
	var answer []transform.Value
	err := pgx.BeginTxFunc(ctx, l.db, pgx.TxOptions{BeginQuery: l.begin}, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, l.query, args...)
		if err != nil {
			return err
		}
		answer, err = l.read(rows)
		return err
	})
	switch {
	case err != nil:
		return transform.Value{}, writes(l.db.Lost(err))
	case len(answer) > l.rows:
		return transform.Value{}, failed(classify.CodeForeignKeyUnresolved, "%s: more than %d rows match (sql.max_rows); ask for what tells them apart", l.db.What, l.rows)
	case l.rows > 1:
		return transform.ArrayValue(answer...), nil
	case len(answer) == 0:
		return transform.Value{}, unmatched(l.db.What)
	default:
		return answer[0], nil
	}
}

// writes marks the error of a query that would write as permanent. Elsewhere the error means that the server is a standby now; here
// the transaction itself is read-only.
func writes(err error) error {
	if postgres.WriteRefused(err) {
		return classify.WithCode(classify.CodeDBAccess, classify.StageEnrich, err)
	}
	return err
}

// read collects the rows.
func (l *sqlLookup) read(rows pgx.Rows) ([]transform.Value, error) {
	defer rows.Close()
	var out []transform.Value
	bytes := 0
	for rows.Next() {
		var text *string
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		if text != nil {
			bytes += len(*text)
		}
		if text == nil || bytes > l.limit {
			return nil, failed(classify.CodeBadResponse, "the answer has more than %d bytes (sql.max_response_bytes)", l.limit)
		}
		value, err := transform.ParseValue([]byte(*text))
		if err != nil {
			return nil, failed(classify.CodeBadResponse, "a row is not JSON that can be read: %v", err)
		}
		out = append(out, value)
	}
	return out, rows.Err()
}

// geometryValue converts a shape to a GeoJSON geometry (RFC 7946, section 3.1) with two ordinates per position. A shape
// of another type becomes null.
func geometryValue(shape orb.Geometry) transform.Value {
	object := func(kind transform.GeometryType, name string, v transform.Value) transform.Value {
		return transform.ObjectValue(
			transform.Member{Name: "type", Value: transform.StringValue(string(kind))}, transform.Member{Name: name, Value: v})
	}
	switch g := shape.(type) {
	case orb.Point:
		return object(transform.Point, "coordinates", position(g))
	case orb.MultiPoint:
		return object(transform.MultiPoint, "coordinates", listOf(g, position))
	case orb.LineString:
		return object(transform.LineString, "coordinates", listOf(g, position))
	case orb.MultiLineString:
		return object(transform.MultiLineString, "coordinates", listOf(g, line))
	case orb.Polygon:
		return object(transform.Polygon, "coordinates", listOf(g, ring))
	case orb.MultiPolygon:
		return object(transform.MultiPolygon, "coordinates", listOf(g, func(p orb.Polygon) transform.Value { return listOf(p, ring) }))
	case orb.Collection:
		return object(transform.GeometryCollection, "geometries", listOf(g, geometryValue))
	default:
		return transform.NullValue()
	}
}

func position(p orb.Point) transform.Value {
	return transform.ArrayValue(transform.NumberValue(p[0]), transform.NumberValue(p[1]))
}

func line(l orb.LineString) transform.Value { return listOf(l, position) }
func ring(r orb.Ring) transform.Value       { return listOf(r, position) }

func listOf[T any](all []T, one func(T) transform.Value) transform.Value {
	items := make([]transform.Value, len(all))
	for i, item := range all {
		items[i] = one(item)
	}
	return transform.ArrayValue(items...)
}
