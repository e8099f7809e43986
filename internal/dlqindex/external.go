package dlqindex

import (
	"database/sql"

	"github.com/switchback-geo/switchback/internal/deadletters"
)

// A record of the DLQ, and not the status topic, reports that a replay failed in other software (see
// [deadletters.ExternalOutcome]). Either topic can be read last, so each is combined with the other.

// teller returns a letter whose record reports an outcome, without its content; nil for all others.
func teller(l *deadletters.Letter) *deadletters.Letter {
	if !deadletters.ReportsOutcome(l) {
		return nil
	}
	kept := *l
	kept.Content = nil
	return &kept
}

// heard returns the states that new records make of letters that the table has.
func (t *tx) heard(dlq int64, letters []entry) (map[string]change, error) {
	out := map[string]change{}
	for i := range letters {
		l := &letters[i]
		if l.tells == nil {
			continue
		}
		before, err := t.letter(dlq, l.id)
		if err != nil {
			return nil, err
		}
		if before == nil || before.Status == "" { // new, or its state cannot be read
			continue
		}
		if state := deadletters.ExternalOutcome(l.tells, before.State, t.session.mostReplays); state != before.State {
			out[l.id] = change{id: l.id, state: state}
		}
	}
	return out, nil
}

// told returns the letters in the table whose record reports that a replay failed in other software. It reads letters of
// other software one by one, because they are few.
func (t *tx) told(dlq int64, ids []string) (map[string]*deadletters.Letter, error) {
	out := map[string]*deadletters.Letter{}
	for _, id := range ids {
		if !deadletters.OfOtherSoftware(id) {
			continue
		}
		l, err := t.letter(dlq, id)
		if err != nil {
			return nil, err
		}
		if l != nil && deadletters.ReportsOutcome(l) {
			out[id] = l
		}
	}
	return out, nil
}

// letter reads a letter; nil if the table does not have it.
func (t *tx) letter(dlq int64, id string) (*deadletters.Letter, error) {
	var out *deadletters.Letter
	cols := readColumns()
	err := t.found("SELECT "+names(cols)+" FROM @dead_letter_queue WHERE dlq = ? AND id = ?", func(rows *sql.Rows) error {
		var r row
		if err := rows.Scan(r.targets(cols)...); err != nil {
			return err
		}
		l := r.finish(t.session.topic)
		out = &l
		return nil
	}, dlq, id)
	return out, err
}
