package sink

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
)

// leastLockWait is longer than PostgreSQL's deadlock timeout, so that deadlocks are detected as such.
const leastLockWait = 1200 * time.Millisecond

// lockWait returns how long a statement waits for one lock: a part of its time, so that the other rows of a batch can
// be written in the same attempt.
func lockWait(timeout time.Duration) time.Duration {
	return min(max(timeout/4, leastLockWait), timeout)
}

// lockedError means that a statement waited in vain for rows that another transaction has locked.
type lockedError struct {
	error
	keys map[string]bool
}

// Error names the lock for which the statement waited, before the database's own message.
func (e *lockedError) Error() string {
	if len(e.keys) == 1 {
		return "the row is locked by another transaction: " + e.error.Error()
	}
	return fmt.Sprintf("%d rows are locked by another transaction: %v", len(e.keys), e.error)
}

// Unwrap returns the database's error, a timeout.
func (e *lockedError) Unwrap() error { return e.error }

// lockedRows returns the keys that a statement waited for; the error is nil if it did not.
func lockedRows(err error) (map[string]bool, *lockedError) {
	if locked, is := errors.AsType[*lockedError](err); is {
		return locked.keys, locked
	}
	return nil, nil
}

// askLocks returns the holders of a lock on one of the tables that blocks all writers.
const askLocks = `
select l.relation::regclass || ': process ' || l.pid || coalesce(' of ' || nullif(a.application_name, ''), '') || ', ' || l.mode
from pg_locks l left join pg_stat_activity a using (pid)
where l.locktype = 'relation' and l.relation in (to_regclass($1), to_regclass($2)) and l.granted and l.pid <> pg_backend_pid()
	and l.database = (select oid from pg_database where datname = current_database())
	and l.mode in ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
order by l.pid limit 1`

// askRows returns which of the guard's keys ($1) and of the rows ($2) another transaction has locked, and whether it is
// a row. It waits for none of them.
const askRows = `
with guard as materialized (select key from %[1]s where key = any ($1) for update skip locked),
	own as materialized (select %[3]s as key from %[2]s where %[3]s = any ($2::text[]::%[4]s[]) for update skip locked)
(select key, false from %[1]s where key = any ($1) except select key, false from guard)
union (select %[3]s::text, true from %[2]s where %[3]s = any ($2::text[]::%[4]s[]) except select key::text, true from own)`

// waits returns the lock for which a statement waited until it timed out: a lock on the whole table, which is the
// table's fault, or rows, which is a failure of their records alone. It returns err if it finds neither.
func (s *Sink) waits(err error, rows []*Row) error {
	known := s.table.Load()
	if known == nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.timeout)
	defer cancel()
	var who string
	switch asked := s.db.QueryRow(ctx, askLocks, known.quoted, known.guard).Scan(&who); {
	case asked == nil:
		fault := Mismatch{Fault: "is locked as a whole (" + who + ")", Fix: "it is retried once that transaction ends", Reach: ReachAll}
		return &TableError{Table: known.name, Mismatches: []Mismatch{fault}, Err: err}
	case !errors.Is(asked, pgx.ErrNoRows):
		return err // the original failure is more specific
	}
	if keys := s.lockedOf(ctx, known, rows); len(keys) > 0 {
		return &lockedError{err, keys}
	}
	return err
}

// lockedOf returns the keys of locked rows. If they cannot be read (a key does not fit the column's type), it returns
// none, and the batch is divided.
func (s *Sink) lockedOf(ctx context.Context, known *reading, rows []*Row) map[string]bool {
	keys, ids, owner := make([]string, len(rows)), make([]string, 0, len(rows)), map[string]string{}
	for i, r := range rows {
		keys[i] = string(r.Key)
		if id := string(known.rowKey(r)); id != "" {
			ids, owner[id] = append(ids, id), keys[i]
		}
	}
	locked := map[string]bool{}
	_ = pgx.BeginFunc(ctx, s.db, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "select set_config('lock_timeout', $1, true)", strconv.FormatInt(lockWait(s.timeout).Milliseconds(), 10)); err != nil {
			return err
		}
		found, err := tx.Query(ctx, fmt.Sprintf(askRows, known.guard, known.quoted, quote(known.key), known.keyType), keys, ids)
		if err != nil {
			return err
		}
		var key string
		var own bool
		if _, err := pgx.ForEachRow(found, []any{&key, &own}, func() error {
			if own {
				key = cmp.Or(owner[key], key) // a number may be written in another way
			}
			locked[key] = true
			return nil
		}); err != nil {
			clear(locked)
			return err
		}
		return errAsked // none of its changes is kept
	})
	return locked
}

var errAsked = errors.New("asked")
