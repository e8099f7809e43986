package dlqindex

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite" // the driver "sqlite"
)

// InMemory is the place of an index that ends with its process.
const InMemory = ":memory:"

// database is the open database of an index. It is safe for concurrent use.
type database struct {
	db     *sql.DB
	engine Engine
	place  string // for people; no password in it
	remade string // why the tables were rebuilt; empty when they were not
}

// engineOf returns the engine of a place: a URL with the scheme postgres or postgresql, or else a file.
func engineOf(place string) Engine {
	if strings.HasPrefix(place, "postgres://") || strings.HasPrefix(place, "postgresql://") {
		return PostgreSQL
	}
	return SQLite
}

// defaultFile returns the default file of an index: in the user's cache folder, one file for each topic of each cluster.
func defaultFile(cluster, topic string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no folder for the index: %w; say where with --index FILE", err)
	}
	return filepath.Join(cache, "switchback", "index", url.PathEscape(cluster), url.PathEscape(topic)+".sqlite"), nil
}

// open opens the index at a place: a file, which it creates if it is missing, [InMemory], or the URL of a PostgreSQL
// database. It creates the tables, and rebuilds those of another version. The error of a damaged file is a
// [*DamagedError]; other functions return it too, if they find damage later. Close the database.
func open(ctx context.Context, place string) (*database, error) {
	s := &database{engine: engineOf(place), place: place}
	var err error
	if s.engine == PostgreSQL {
		err = s.openPostgres(place)
	} else {
		err = s.openFile(place)
	}
	if err != nil {
		return nil, fmt.Errorf("open the index at %s: %w", s.place, err)
	}
	if err = s.inspect(ctx); err == nil {
		err = s.prepare(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the index at %s: %w", s.place, damage(s.place, err)), s.db.Close())
	}
	return s, nil
}

// Close closes the connections.
func (s *database) Close() error { return s.db.Close() }

// Place returns where the index is, without a password.
func (s *database) Place() string { return s.place }

// Engine returns the engine of the index.
func (s *database) Engine() Engine { return s.engine }

func (s *database) openPostgres(place string) error {
	if parsed, err := url.Parse(place); err == nil {
		s.place = parsed.Redacted()
	} else {
		s.place = "postgres://…"
	}
	cfg, err := pgx.ParseConfig(place)
	if err != nil {
		return errors.New("this is not an address of the form postgres://user:password@host:port/database")
	}
	cfg.RuntimeParams["timezone"] = "UTC"
	// A crash of the server loses rows together with their position; the next sync reads them again.
	cfg.RuntimeParams["synchronous_commit"] = "off"
	s.db = stdlib.OpenDB(*cfg)
	return nil
}

// openFile opens SQLite. After a power cut, the next sync repeats the transactions that NORMAL loses. What SQLite sorts
// beyond the size of the cache goes into temporary files, so a million letters need the memory of a few. Pages of 16 KiB
// hold more rows than the default of 4 KiB, and cost a fifth less processor time in the fill and in scans.
//
// The journal mode is set in [database.prepare], because the driver would set it before the page size, which would then be
// that of the default.
func (s *database) openFile(place string) error {
	pragmas := url.Values{"_txlock": {"immediate"}, "_pragma": {
		"busy_timeout(20000)", "page_size(16384)", "synchronous(NORMAL)", "cache_size(-16384)",
		"wal_autocheckpoint(2000)",
	}}
	if place != InMemory {
		if err := ownOnly(place); err != nil {
			return err
		}
		full, err := filepath.Abs(place)
		if err != nil {
			return err
		}
		place = (&url.URL{Scheme: "file", Path: filepath.ToSlash(full)}).String()
	}
	db, err := sql.Open("sqlite", place+"?"+pragmas.Encode())
	if err != nil {
		return err
	}
	if s.place == InMemory {
		db.SetMaxOpenConns(1) // each connection has a memory of its own
	}
	s.db = db
	return nil
}

// ownOnly creates the file before SQLite does, readable by its owner alone, because it contains data of features.
func ownOnly(file string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return fmt.Errorf("%w; say where with --index FILE", err)
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("%w; say where with --index FILE", err)
	}
	return f.Close()
}

// Engine is a database that the index can live in. It is a closed list.
type Engine string

// The engines.
const (
	SQLite     Engine = "sqlite"
	PostgreSQL Engine = "postgresql"
)

// tablePrefix returns the schema of the tables: in PostgreSQL the one that the queries of the source document name.
func (e Engine) tablePrefix() string {
	if e == PostgreSQL {
		return "pipeline."
	}
	return ""
}

// sql returns a statement for the engine: tables get their schema, and each ? its number.
func (e Engine) sql(text string) string {
	text = strings.ReplaceAll(text, "@dead_", e.tablePrefix()+"dead_")
	if e != PostgreSQL {
		return text
	}
	var b strings.Builder
	n := 0
	for _, r := range text {
		if r == '?' {
			n++
			b.WriteString("$" + strconv.Itoa(n))
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// timeLayout is the form of times in SQLite. They sort as text, and SQLite's date functions read them.
const timeLayout = "2006-01-02T15:04:05.000Z"

// time returns a time as the engine takes it, in whole milliseconds; the zero time is NULL.
func (e Engine) time(t time.Time) any {
	switch {
	case t.IsZero():
		return nil
	case e == PostgreSQL:
		return t.UTC().Truncate(time.Millisecond)
	default:
		return t.UTC().Format(timeLayout)
	}
}

// bound returns a time that stored times are compared with. It is rounded up to whole milliseconds, as which times are
// stored, so that "at or after" and "before" mean the same as with the exact time.
func (e Engine) bound(t time.Time) any {
	if floor := t.Truncate(time.Millisecond); floor.Before(t) {
		t = floor.Add(time.Millisecond)
	}
	return e.time(t)
}

// stamp receives a time from either engine.
type stamp struct{ to *time.Time }

var _ sql.Scanner = stamp{}

// Scan reads NULL as the zero time.
func (s stamp) Scan(from any) error {
	switch v := from.(type) {
	case nil:
		*s.to = time.Time{}
	case time.Time:
		*s.to = v.UTC()
	case string:
		t, err := time.Parse(timeLayout, v)
		if err != nil {
			return fmt.Errorf("read a time of the index: %w", err)
		}
		*s.to = t
	default:
		return fmt.Errorf("read a time of the index: unexpected %T", from)
	}
	return nil
}
