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

// Database is a pool of connections.
type Database struct {
	*pgxpool.Pool
	What string // as it is shown: database parcels at db:5432
	URL  string // the same as a URL, without user and password
}

// Options say how a database is used.
type Options struct {
	// Key is the part of the configuration that names it, for errors.
	Key string
	// Timeout is how long a connection may take to be made.
	Timeout time.Duration
	// MaxConnections is how many there are at once.
	MaxConnections int
	// MaxMessage is how many bytes one message of the server may have: a row, an error, a notice. The driver reads it whole.
	// Defaults to 16 MiB.
	MaxMessage int
	// Parameters are set on each connection.
	Parameters map[string]string
}

const defaultMaxMessage = 16 << 20

// SourceError says that there is no usable connection string where it is kept, such as while a password is replaced.
type SourceError struct{ error }

// Unwrap gives the cause.
func (e *SourceError) Unwrap() error { return e.error }

// FailureCode is that of a login that is refused.
func (e *SourceError) FailureCode() classify.Code { return classify.CodeDBAccess }

// FailureStage is left to the caller.
func (e *SourceError) FailureStage() classify.Stage { return "" }

// Open reads the connection string. It connects at the first use, and reads the string again for each connection, so that a
// password that was replaced in its file needs no restart.
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
	pool, err := pgxpool.NewWithConfig(context.Background(), c) // it lives until Close
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.Key, err)
	}
	at := c.ConnConfig
	u := url.URL{Scheme: "postgres", Host: net.JoinHostPort(at.Host, strconv.Itoa(int(at.Port))), Path: "/" + at.Database}
	return &Database{Pool: pool, What: fmt.Sprintf("database %s at %s:%d", at.Database, at.Host, at.Port), URL: u.String()}, nil
}

// unparsable does not wrap the library's text, which may quote the string.
func unparsable(o Options) error {
	return fmt.Errorf("%s: the connection string does not parse; write it as postgres://user:password@host:port/database", o.Key)
}

// Lost wraps the error of a statement; nil stays nil. An error of a lost connection becomes one of the network, because the driver's own
// error for it has no type. A message beyond the bound is an answer that was not agreed upon.
func (d *Database) Lost(err error) error {
	if err == nil {
		return nil
	}
	if _, oversize := errors.AsType[*pgproto3.ExceededMaxBodyLenErr](err); oversize {
		return &answerError{fmt.Errorf("%s: a message of the server is too large: %w", d.What, err)}
	}
	_, said := errors.AsType[*pgconn.PgError](err)
	_, refused := errors.AsType[*pgconn.ConnectError](err)
	if !said && !refused && (pgconn.SafeToRetry(err) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)) {
		return &net.OpError{Op: d.What, Err: err}
	}
	return fmt.Errorf("%s: %w", d.What, err)
}

// answerError is an answer of the server that is not read.
type answerError struct{ error }

func (e *answerError) Unwrap() error { return e.error }

// FailureCode is that of an answer that was not agreed upon.
func (e *answerError) FailureCode() classify.Code { return classify.CodeBadResponse }

// FailureStage is left to the caller.
func (e *answerError) FailureStage() classify.Stage { return "" }

// Connecting says whether a failure is one of getting a connection: of the network, of TLS, of the login, or of where the connection
// string is kept.
func Connecting(err error) bool {
	_, connecting := errors.AsType[*pgconn.ConnectError](err)
	_, unreadable := errors.AsType[*SourceError](err)
	return connecting || unreadable
}

// WriteRefused says that a statement would have written where nothing may be (SQLSTATE 25006): in a transaction that only
// reads, or on a standby, such as the primary of before a failover.
func WriteRefused(err error) bool {
	said, ok := errors.AsType[*pgconn.PgError](err)
	return ok && said.Code == "25006"
}

// StatementTimeout is when the server gives up: a little before its client does, so that it says so and the connection lives
// on.
func StatementTimeout(timeout time.Duration) time.Duration {
	return max(timeout-timeout/10, time.Millisecond)
}
