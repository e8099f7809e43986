package dlqindex

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/switchback-geo/switchback/internal/deadletters"
)

const (
	copyRows        = 100     // from how many letters on PostgreSQL takes them by COPY
	uniqueViolation = "23505" // SQLSTATE
)

// putLetters writes records of the DLQ. Almost always all letters are new. Rows that are there are only read if one is
// not: a letter that was replayed and died again, or a copied record.
func (t *tx) putLetters(dlq int64, letters []entry) error {
	letters = latest(t.engine, letters)
	if err := t.putGroups(dlq, letters); err != nil {
		return err
	}
	if err := t.exec("SAVEPOINT letters"); err != nil {
		return err
	}
	allNew, err := t.insertNew(letters)
	if err != nil {
		return err
	}
	if !allNew {
		if err := t.exec("ROLLBACK TO SAVEPOINT letters"); err != nil {
			return err
		}
		return t.replaceLetters(dlq, letters)
	}
	counters := newTally()
	for i := range letters {
		counters.add(&letters[i].row, 1)
	}
	return counters.write(t, dlq)
}

// insertNew inserts letters that are assumed to be new, and reports whether all of them were.
func (t *tx) insertNew(letters []entry) (bool, error) {
	if t.engine == PostgreSQL && len(letters) >= copyRows {
		return t.copy(letters)
	}
	inserted, err := t.insert(letters, " ON CONFLICT (id, dlq) DO NOTHING")
	return inserted == len(letters), err
}

// copy is insertNew by PostgreSQL's COPY.
func (t *tx) copy(letters []entry) (bool, error) {
	source := pgx.CopyFromSlice(len(letters), func(i int) ([]any, error) { return letters[i].values, nil })
	err := t.session.conn.Raw(func(driver any) error {
		_, err := driver.(*stdlib.Conn).Conn().CopyFrom(t.ctx, pgx.Identifier{"pipeline", "dead_letter_queue"}, nameList(writtenColumns()), source)
		return err
	})
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok && refused.Code == uniqueViolation {
		return false, nil
	}
	return err == nil, err
}

// insert writes letters and returns how many rows it changed.
func (t *tx) insert(letters []entry, onConflict string) (int, error) {
	values := make([][]any, len(letters))
	for i := range letters {
		values[i] = letters[i].values
	}
	return t.rows("INSERT INTO @dead_letter_queue ("+names(writtenColumns())+") VALUES ", values, onConflict)
}

// replaceLetters writes letters of which some are there. A later record of a letter is the same letter, dead again: it
// keeps its state, and it is not gone.
func (t *tx) replaceLetters(dlq int64, letters []entry) error {
	before, err := t.standings(dlq, entryIDs(letters))
	if err != nil {
		return err
	}
	heard, err := t.heard(dlq, letters)
	if err != nil {
		return err
	}
	counters := newTally()
	for i := range letters {
		l := &letters[i]
		if old, ok := before[l.ID]; ok {
			counters.add(old, -1)
			l.after(t.engine, old.Deaths, old.FirstAt)
			l.in(deadletters.State{Status: old.Status, ReprocessCount: old.State.ReprocessCount})
			if c, changed := heard[l.ID]; changed {
				l.in(c.state)
			}
		}
		counters.add(&l.row, 1)
	}
	if _, err := t.insert(letters, onConflictReplace()); err != nil {
		return err
	}
	if err := t.update(dlq, slices.Collect(maps.Values(heard))); err != nil {
		return err
	}
	return counters.write(t, dlq)
}

func onConflictReplace() string {
	sets := []string{"gone = 0", "gone_at = NULL"}
	for _, c := range writtenColumns() {
		if c.name != "id" && c.name != "dlq" {
			sets = append(sets, c.name+" = excluded."+c.name)
		}
	}
	return " ON CONFLICT (id, dlq) DO UPDATE SET " + strings.Join(sets, ", ")
}

// latest keeps the last of several records of one letter, with the number of them.
func latest(engine Engine, letters []entry) []entry {
	at := make(map[string]int, len(letters))
	for i := range letters {
		at[letters[i].ID] = i
	}
	if len(at) == len(letters) {
		return letters
	}
	clear(at)
	var out []entry
	for _, l := range letters {
		if i, ok := at[l.ID]; ok {
			l.after(engine, out[i].Deaths, out[i].FirstAt)
			out[i] = l
			continue
		}
		at[l.ID] = len(out)
		out = append(out, l)
	}
	return out
}

// putGroups writes what the groups of letters stand for.
func (t *tx) putGroups(dlq int64, letters []entry) error {
	var groups [][]any
	seen := map[string]bool{}
	for i := range letters {
		if l := &letters[i]; !seen[l.Group] {
			seen[l.Group] = true
			c := &l.Control
			groups = append(groups, []any{dlq, l.Group, plain(c.ErrorCode), plain(c.ErrorStage), plain(deadletters.PatternOf(c.FeatureID, c.ErrorMessage, l.CausedBy))})
		}
	}
	_, err := t.rows("INSERT INTO @dead_letter_group (dlq, group_id, code, stage, message) VALUES ", groups, " ON CONFLICT (dlq, group_id) DO NOTHING")
	return err
}
