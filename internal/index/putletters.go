package index

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

// putLetters takes in records of the DLQ. Almost always all of them are new; only when one is not
// (it was replayed and died again, or somebody copied it) what is there is looked at first.
func (t *tx) putLetters(dlq int64, letters []entry, known numbers) error {
	letters = latest(t.engine, letters)
	if err := t.putNames(dlq, letters, known); err != nil {
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
		return t.replaceLetters(dlq, letters, known)
	}
	return t.putBlocks(t.blocks(dlq), letters, known)
}

// putBlocks enters letters into their blocks, and stores those.
func (t *tx) putBlocks(b *blocks, letters []entry, known numbers) error {
	for i := range letters {
		if err := b.put(&letters[i], known); err != nil {
			return err
		}
	}
	return b.write()
}

// insertNew inserts letters that are taken to be new, and says whether they all were.
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

// replaceLetters takes in letters of which some are there. A later record of a letter is the same
// letter, dead again: it keeps its state, and it is not gone.
func (t *tx) replaceLetters(dlq int64, letters []entry, known numbers) error {
	ids := make([]string, len(letters))
	for i := range letters {
		ids[i] = letters[i].id
	}
	before, err := t.standings(dlq, ids)
	if err != nil {
		return err
	}
	b := t.blocks(dlq)
	heard, err := t.heard(dlq, letters)
	if err != nil {
		return err
	}
	for i := range letters {
		l := &letters[i]
		old, ok := before[l.id]
		if !ok {
			continue
		}
		if err := b.empty(old.at); err != nil {
			return err
		}
		l.standing.status, l.standing.reworked = old.status, old.reworked
		l.diesAgain(t.engine, old)
		if c, changed := heard[l.id]; changed {
			l.standing.status, l.standing.reworked = c.state.Status, c.state.ReprocessCount
		}
	}
	if _, err := t.insert(letters, onConflictReplace()); err != nil {
		return err
	}
	if err := t.update(dlq, slices.Collect(maps.Values(heard))); err != nil {
		return err
	}
	return t.putBlocks(b, letters, known)
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
		at[letters[i].id] = i
	}
	if len(at) == len(letters) {
		return letters
	}
	clear(at)
	var out []entry
	for _, l := range letters {
		if i, ok := at[l.id]; ok {
			l.diesAgain(engine, out[i].standing)
			out[i] = l
			continue
		}
		at[l.id] = len(out)
		out = append(out, l)
	}
	return out
}

// insert writes letters and says how many rows came of it.
func (t *tx) insert(letters []entry, onConflict string) (int, error) {
	values := make([][]any, len(letters))
	for i := range letters {
		values[i] = letters[i].values
	}
	return t.rows("INSERT INTO @dead_letter_queue ("+names(writtenColumns())+") VALUES ", values, onConflict)
}

// putNames numbers the names in letters, and writes what new fingerprints stand for.
func (t *tx) putNames(dlq int64, letters []entry, known numbers) error {
	var fresh [][]any
	var wanted []name
	seen := map[name]bool{}
	for i := range letters {
		l := &letters[i]
		for _, n := range []name{l.group, l.pipeline, l.run} {
			if known[n] > 0 || seen[n] {
				continue
			}
			seen[n] = true
			wanted = append(wanted, n)
			if c := &l.cause; n.kind == groupName {
				fresh = append(fresh, []any{dlq, n.text, plain(c.code), plain(c.stage), plain(deadletters.NormaliseFor(c.featureID, c.message))})
			}
		}
	}
	if err := t.number(dlq, known, wanted); err != nil {
		return err
	}
	_, err := t.rows("INSERT INTO @dead_letter_group (dlq, group_id, code, stage, message) VALUES ", fresh, " ON CONFLICT (dlq, group_id) DO NOTHING")
	return err
}
