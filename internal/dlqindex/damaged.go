package dlqindex

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"modernc.org/sqlite"
	sqlitecodes "modernc.org/sqlite/lib"
)

// DamagedError reports that the stored data is damaged: no answer from it can be trusted.
type DamagedError struct {
	Place string // of the index, for people
	Err   error  // what does not fit
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("the index at %s is damaged (%v); run replayer index --rebuild, or delete it: all that is in it is read from Kafka again", e.Place, e.Err)
}

func (e *DamagedError) Unwrap() error { return e.Err }

// damage returns an error of the database as a [*DamagedError] with the place if it reports damage, else unchanged.
func damage(place string, err error) error {
	if own, ok := errors.AsType[*DamagedError](err); ok {
		if own.Place == "" {
			own.Place = place
		}
		return err
	}
	const primary = 0xff // the low byte of an extended code
	if of, ok := errors.AsType[*sqlite.Error](err); ok && (of.Code()&primary == sqlitecodes.SQLITE_CORRUPT || of.Code()&primary == sqlitecodes.SQLITE_NOTADB) {
		return &DamagedError{Place: place, Err: err}
	}
	return err
}

// inspection is how long opening a file may look for damage. That is enough for a file of a hundred thousand dead
// letters. In a larger file, damage that is not found is noticed where it is read.
const inspection = 300 * time.Millisecond

// inspect compares the numbers of rows, and has SQLite check how the pages of a file are linked, within a bound.
func (s *database) inspect(ctx context.Context) error {
	if s.engine != SQLite || s.place == InMemory {
		return nil
	}
	bounded, cancel := context.WithTimeout(ctx, inspection)
	defer cancel()
	for _, check := range []string{
		`SELECT CASE WHEN letters = counted THEN 'ok' ELSE letters || ' dead letters, and ' || counted || ' are counted' END FROM
			(SELECT (SELECT count(*) FROM dead_letter_queue) AS letters, (SELECT coalesce(sum(letters), 0) FROM dead_letter_count) AS counted)`,
		"PRAGMA quick_check(1)",
	} {
		var result string
		err := s.db.QueryRowContext(bounded, check).Scan(&result)
		if bounded.Err() != nil {
			return ctx.Err() // there was no time for more
		}
		if err = damage(s.place, err); err == nil && result != "ok" {
			err = &DamagedError{Place: s.place, Err: errors.New(result)}
		}
		if _, damaged := errors.AsType[*DamagedError](err); damaged {
			return err
		} // any other error, such as a missing table, appears at the first use
	}
	return nil
}

// replace opens an empty index in place of a damaged file, which is renamed to FILE.damaged. why is the error that
// reported the damage.
func replace(ctx context.Context, file string, why error) (*database, error) {
	if err := setAside(file); err != nil {
		return nil, errors.Join(why, err)
	}
	s, err := open(ctx, file)
	if err == nil {
		s.remade = "it was damaged; the damaged file is " + file + ".damaged"
	}
	return s, err
}

// setAside renames a damaged file, over an earlier one. Deleting it would lose somebody's file after a mistyped --index.
func setAside(file string) error {
	if err := os.Rename(file, file+".damaged"); err != nil {
		return fmt.Errorf("set the damaged index aside: %w", err)
	}
	for _, of := range []string{"-wal", "-shm"} { // of a file that is not there any more
		if err := os.Remove(file + of); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("set the damaged index aside: %w", err)
		}
	}
	return nil
}
