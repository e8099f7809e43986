package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/url"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/pkg/classify"
)

// Database is a pool of connections. It is safe for concurrent use.
type Database struct {
	*pgxpool.Pool
	What string // its name in messages: database parcels at db:5432
	URL  string // the same as a URL, without user and password
}

// Options configure a [Database].
type Options struct {
	// Key is the configuration key of the database, for errors.
	Key string
	// Timeout is the time limit for opening a connection.
	Timeout time.Duration
	// MaxConnections is the largest number of open connections.
	MaxConnections int
	// MaxMessage limits one message of the server, in bytes: a row, an error or a notice. The driver reads a message
	// whole. Defaults to 16 MiB.
	MaxMessage int
	// Parameters are set on each connection.
	Parameters map[string]string
}

const defaultMaxMessage = 16 << 20

// SourceError means that the place of the connection string has no usable one, for example while a password is replaced.
type SourceError struct{ error }

// Unwrap returns the cause.
func (e *SourceError) Unwrap() error { return e.error }

// FailureCode is the code of a refused login.
func (e *SourceError) FailureCode() classify.Code { return classify.CodeDBAccess }

// FailureStage leaves the stage to the caller.
func (e *SourceError) FailureStage() classify.Stage { return "" }

// Open returns a database whose connection string source returns. It connects at the first use. It calls source for each
// connection, so a replaced password needs no restart.
func Open(source func() (config.Secret, error), o Options) (*Database, error) {
	dsn, err := source()
	if err != nil {
		return nil, err
	}
	c, err := pgxpool.ParseConfig(dsn.Reveal())
	if err != nil {
		return nil, unparsable(o)
	}
	c.BeforeConnect = func(_ context.Context, to *pgx.ConnConfig) error {
		dsn, err := source()
		if err != nil {
			return &SourceError{err}
		}
		now, err := pgx.ParseConfig(dsn.Reveal())
		if err != nil {
			return &SourceError{unparsable(o)}
		}
		to.Host, to.Port, to.Database, to.User, to.Password = now.Host, now.Port, now.Database, now.User, now.Password
		to.TLSConfig, to.Fallbacks = now.TLSConfig, now.Fallbacks
		return nil
	}
	c.MaxConns, c.MinConns = int32(min(o.MaxConnections, 1<<15)), 0
	c.ConnConfig.ConnectTimeout = o.Timeout
	c.ConnConfig.MaxProtocolMessageBodyLen = cmp.Or(o.MaxMessage, defaultMaxMessage)
	if c.ConnConfig.RuntimeParams["application_name"] == "" {
		c.ConnConfig.RuntimeParams["application_name"] = "switchback"
	}
	maps.Copy(c.ConnConfig.RuntimeParams, o.Parameters)
	pool, err := pgxpool.NewWithConfig(context.Background(), c) // the pool lives until Close
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.Key, err)
	}
	at := c.ConnConfig
	u := url.URL{Scheme: "postgres", Host: net.JoinHostPort(at.Host, strconv.Itoa(int(at.Port))), Path: "/" + at.Database}
	return &Database{Pool: pool, What: fmt.Sprintf("database %s at %s:%d", at.Database, at.Host, at.Port), URL: u.String()}, nil
}

// unparsable returns the error of an unusable connection string. It does not wrap the library's error, which may quote
// the string.
func unparsable(o Options) error {
	return fmt.Errorf("%s: the connection string does not parse; write it as postgres://user:password@host:port/database", o.Key)
}

// Lost wraps the error of a statement and returns nil for nil. The error of a lost connection becomes a network error,
// because the driver has no type for it. A message beyond the limit becomes a bad response.
func (d *Database) Lost(err error) error {
	if err == nil {
		return nil
	}
	if _, oversize := errors.AsType[*pgproto3.ExceededMaxBodyLenErr](err); oversize {
		return classify.WithCode(classify.CodeBadResponse, "", fmt.Errorf("%s: a message of the server is too large: %w", d.What, err))
	}
	_, answered := errors.AsType[*pgconn.PgError](err)
	_, refused := errors.AsType[*pgconn.ConnectError](err)
	if !answered && !refused && (pgconn.SafeToRetry(err) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)) {
		return &net.OpError{Op: d.What, Err: err}
	}
	return fmt.Errorf("%s: %w", d.What, err)
}

// Connecting reports whether an error concerns getting a connection: the network, TLS, the login, or the place of the
// connection string.
func Connecting(err error) bool {
	_, connecting := errors.AsType[*pgconn.ConnectError](err)
	_, unreadable := errors.AsType[*SourceError](err)
	return connecting || unreadable
}

// WriteRefused reports whether the server refused a write because the transaction or the server is read-only (SQLSTATE
// 25006), for example on a standby after a failover.
func WriteRefused(err error) bool {
	pgErr, ok := errors.AsType[*pgconn.PgError](err)
	return ok && pgErr.Code == "25006"
}

// StatementTimeout returns the time limit of the server. It is a little shorter than the client's, so that the server
// reports the timeout and the connection stays usable.
func StatementTimeout(timeout time.Duration) time.Duration {
	return max(timeout-timeout/10, time.Millisecond)
}
