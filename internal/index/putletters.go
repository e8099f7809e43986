package index

import (
	"strings"

	"github.com/switchback-geo/switchback/internal/deadletters"
)

// insertRows is how many letters one statement inserts: times the columns, it stays below what
// both engines take as parameters (32766).
const insertRows = 200

// putLetters takes in records of the DLQ. Almost always all of them are new; only when one is not
// (it was replayed and died again, or somebody copied it) what is there is looked at first.
func (t *tx) putLetters(dlq int64, rows []row, groups map[string]bool) error {
	rows = latest(rows)
	if err := t.putGroups(dlq, rows, groups); err != nil {
		return err
	}
	if err := t.exec("SAVEPOINT letters"); err != nil {
		return err
	}
	inserted, err := t.insert(rows, " ON CONFLICT (id, dlq) DO NOTHING")
	if err != nil {
		return err
	}
	d := deltas{}
	if inserted == len(rows) {
		for i := range rows {
			d.add(standingOf(&rows[i]))
		}
		return d.write(t, dlq)
	}
	if err := t.exec("ROLLBACK TO SAVEPOINT letters"); err != nil {
		return err
	}
	return t.replaceLetters(dlq, rows, d)
}

// replaceLetters takes in letters of which some are there. A later record of a letter is the same
// letter, dead again: it keeps its state, and it is not gone.
func (t *tx) replaceLetters(dlq int64, rows []row, d deltas) error {
	ids := make([]string, len(rows))
	for i := range rows {
		ids[i] = plain(rows[i].ID)
	}
	before, err := t.standings(dlq, ids)
	if err != nil {
		return err
	}
	for i := range rows {
		after := standingOf(&rows[i])
		if old, ok := before[ids[i]]; ok {
			d.take(old)
			after.status, after.reworked = old.status, old.reworked
			rows[i].Deaths += old.deaths
		}
		d.add(after)
	}
	if _, err := t.insert(rows, onConflictReplace()); err != nil {
		return err
	}
	return d.write(t, dlq)
}

func onConflictReplace() string {
	sets := []string{"gone = 0", "gone_at = NULL"}
	for _, c := range columns() {
		if written(c) && c.name != "id" && c.name != "dlq" {
			sets = append(sets, c.name+" = excluded."+c.name)
		}
	}
	return " ON CONFLICT (id, dlq) DO UPDATE SET " + strings.Join(sets, ", ")
}

// latest keeps the last of several records of one letter, with the number of them.
func latest(rows []row) []row {
	at := make(map[string]int, len(rows))
	out := rows[:0:0]
	for _, r := range rows {
		if i, ok := at[r.ID]; ok {
			r.Deaths += out[i].Deaths
			out[i] = r
			continue
		}
		at[r.ID] = len(out)
		out = append(out, r)
	}
	return out
}

// insert writes letters, many to a statement, and says how many rows came of it.
func (t *tx) insert(rows []row, onConflict string) (int, error) {
	cols := columns()
	inserted := 0
	var values []any
	for len(rows) > 0 {
		n := 1
		if len(rows) >= insertRows {
			n = insertRows
		}
		values = values[:0]
		for i := range n {
			values = rows[i].values(t.engine, values, cols)
		}
		k, err := t.affected(insertText(n, onConflict), values...)
		if err != nil {
			return 0, err
		}
		inserted += k
		rows = rows[n:]
	}
	return inserted, nil
}

func insertText(n int, onConflict string) string {
	one := 0
	for _, c := range columns() {
		if written(c) {
			one++
		}
	}
	return "INSERT INTO @dead_letter_queue (" + names(written) + ") VALUES " + placeholders(n, one) + onConflict
}

// placeholders is "(?, ?), (?, ?)" for two rows of two.
func placeholders(rows, columns int) string {
	one := "(" + strings.TrimSuffix(strings.Repeat("?, ", columns), ", ") + ")"
	return strings.TrimSuffix(strings.Repeat(one+", ", rows), ", ")
}

// putGroups writes what the fingerprints stand for.
func (t *tx) putGroups(dlq int64, rows []row, have map[string]bool) error {
	for i := range rows {
		r := &rows[i]
		if have[r.Group] {
			continue
		}
		have[r.Group] = true
		err := t.exec("INSERT INTO @dead_letter_group (dlq, group_id, code, stage, message) VALUES (?, ?, ?, ?, ?) ON CONFLICT (dlq, group_id) DO NOTHING",
			dlq, r.Group, plain(r.Control.ErrorCode), plain(r.Control.ErrorStage),
			plain(deadletters.NormaliseFor(r.Control.FeatureID, r.Control.ErrorMessage)))
		if err != nil {
			return err
		}
	}
	return nil
}
