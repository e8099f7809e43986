package enrich

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/quota"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// sqlLookup asks one PostgreSQL database. Values are parameters of the query and never part of its text, in a transaction
// that only reads.
type sqlLookup struct {
	pool  *pgxpool.Pool
	what  string // the database, as it is shown
	url   string // the same as a URL, without user and password
	begin string
	query string
	args  []string
	rows  int
	limit int // largest answer, in bytes
}

// newSQLLookup reads the connection string and connects at the first query.
func newSQLLookup(s *config.SQLLookup) (*sqlLookup, error) {
	dsn, err := s.DSN("sql")
	if err != nil {
		return nil, err
	}
	if s.Timeout <= 0 || s.MaxRows < 1 || s.MaxConnections < 1 || s.MaxResponseBytes < 1 {
		return nil, fmt.Errorf("sql has timeout %s, %d max_rows, %d max_connections, %d max_response_bytes; want each more than 0", s.Timeout, s.MaxRows, s.MaxConnections, s.MaxResponseBytes)
	}
	pool, err := newPool(dsn, s)
	if err != nil {
		return nil, err
	}
	at := pool.Config().ConnConfig
	return &sqlLookup{
		pool:  pool,
		what:  fmt.Sprintf("database %s at %s:%d", at.Database, at.Host, at.Port),
		url:   databaseURL(at.Host, at.Port, at.Database),
		begin: fmt.Sprintf("begin read only; set local statement_timeout = %d", statementTimeout(s.Timeout.Std()).Milliseconds()),
		query: wrap(s.Query, s.MaxRows, s.MaxResponseBytes),
		args:  s.Args, rows: s.MaxRows, limit: s.MaxResponseBytes,
	}, nil
}

func databaseURL(host string, port uint16, name string) string {
	u := url.URL{Scheme: "postgres", Host: net.JoinHostPort(host, strconv.Itoa(int(port))), Path: "/" + name}
	return u.String()
}

func newPool(dsn config.Secret, s *config.SQLLookup) (*pgxpool.Pool, error) {
	c, err := pgxpool.ParseConfig(dsn.Reveal())
	if err != nil {
		return nil, errors.New("sql: the connection string does not parse; write it as postgres://user:password@host:port/database") // the library's text may quote it
	}
	c.MaxConns, c.MinConns = int32(min(s.MaxConnections, 1<<15)), 0
	c.ConnConfig.ConnectTimeout = s.Timeout.Std()
	if c.ConnConfig.RuntimeParams["application_name"] == "" {
		c.ConnConfig.RuntimeParams["application_name"] = "switchback"
	}
	pool, err := pgxpool.NewWithConfig(context.Background(), c) // it lives until close
	if err != nil {
		return nil, fmt.Errorf("sql: %w", err)
	}
	return pool, nil
}

// statementTimeout is when the server gives up: a little before we do, so that it says so and the connection lives on.
func statementTimeout(timeout time.Duration) time.Duration {
	return max(timeout-timeout/10, time.Millisecond)
}

// wrap makes the query answer with one JSON object a row, at most one row more than is wanted. A row that is too large
// becomes null in the server, so that it is never sent.
func wrap(query string, rows, limit int) string {
	return fmt.Sprintf("select case when octet_length(answer.row) <= %d then answer.row end from (select to_jsonb(asked)::text as row from (\n%s\n) asked limit %d) answer",
		limit, query, rows+1)
}

func (l *sqlLookup) close() { l.pool.Close() }

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
		key: key.String(), what: l.what, asks: classify.Request{URL: l.url},
		send: func(ctx context.Context) (transform.Value, quota.Advice, error) {
			value, err := l.send(ctx, args)
			return value, quota.Advice{}, err
		},
	}, nil
}

// argument gives the text of id, properties.name or geometry.
func argument(f *transform.Feature, name string) (string, error) {
	if name != "geometry" {
		return textOf(f, name)
	}
	if f.Geometry.IsNull() {
		return "", &fault{classify.CodeMissingRequired, "the feature has no geometry, which the request needs"}
	}
	return string(geometryValue(f.Geometry.Shape).AppendJSON(nil)), nil
}

// send runs the query and gives its answer.
func (l *sqlLookup) send(ctx context.Context, args []any) (transform.Value, error) {
	var answer []transform.Value
	err := pgx.BeginTxFunc(ctx, l.pool, pgx.TxOptions{BeginQuery: l.begin}, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, l.query, args...)
		if err != nil {
			return err
		}
		answer, err = l.read(rows)
		return err
	})
	switch {
	case err != nil:
		return transform.Value{}, l.lost(err)
	case len(answer) > l.rows:
		return transform.Value{}, &fault{classify.CodeForeignKeyUnresolved, fmt.Sprintf("%s: more than %d rows match (sql.max_rows); ask for what tells them apart", l.what, l.rows)}
	case l.rows > 1:
		return transform.ArrayValue(answer...), nil
	case len(answer) == 0:
		return transform.Value{}, &unmatchedError{l.what}
	default:
		return answer[0], nil
	}
}

// lost wraps the error of a query. One whose connection was gone is known as one of the network; the driver's own error for
// it has no type.
func (l *sqlLookup) lost(err error) error {
	_, said := errors.AsType[*pgconn.PgError](err)
	_, refused := errors.AsType[*pgconn.ConnectError](err)
	if !said && !refused && (pgconn.SafeToRetry(err) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)) {
		return &net.OpError{Op: l.what, Err: err}
	}
	return fmt.Errorf("%s: %w", l.what, err)
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
			return nil, &fault{classify.CodeBadResponse, fmt.Sprintf("the answer has more than %d bytes (sql.max_response_bytes)", l.limit)}
		}
		value, err := transform.ParseValue([]byte(*text))
		if err != nil {
			return nil, &fault{classify.CodeBadResponse, "a row is not JSON that can be read: " + err.Error()}
		}
		out = append(out, value)
	}
	return out, rows.Err()
}
