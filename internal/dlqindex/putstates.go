package dlqindex

import (
	"fmt"
	"strconv"
	"time"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// change is one record of the status topic.
type change struct {
	id      string
	removed bool // a tombstone
	state   deadletters.State
	problem string // why the state cannot be read
}

// readChange decodes a record. If it cannot be decoded, the state is unreadable, never pending.
func readChange(r *deadletters.StateRecord) change {
	c := change{id: plain(r.ID), removed: r.Removed, state: r.State}
	if r.Err != nil {
		c.state = deadletters.State{Status: unreadable}
		c.problem = plain(fmt.Sprintf("the state of dead letter %s cannot be read: %v", c.id, r.Err))
	}
	return c
}

// putStates writes records of the status topic. It skips states of letters that the index does not have, because
// retention deleted them before the index was filled. A tombstone makes a letter pending again, or deletes the row of a
// letter that the topic no longer has.
func (t *tx) putStates(dlq int64, changes []change) error {
	ids := idsOf(changes)
	before, err := t.standings(dlq, ids)
	if err != nil {
		return err
	}
	reports, err := t.reports(dlq, ids)
	if err != nil {
		return err
	}
	counters := newTally()
	var updates []change
	for _, c := range latestChanges(changes, before) {
		old, ok := before[c.id]
		if !ok {
			continue
		}
		counters.add(old, -1)
		if c.removed && old.gone {
			if err := t.exec("DELETE FROM @dead_letter_queue WHERE dlq = ? AND id = ?", dlq, c.id); err != nil {
				return err
			}
			continue
		}
		if l, ok := reports[c.id]; ok && c.problem == "" && !c.removed {
			c.state = deadletters.ExternalOutcome(&l, c.state, t.session.maxReplays)
		}
		if c.removed {
			c.state.Status = deadletters.Pending
		}
		old.in(c.state)
		counters.add(old, 1)
		updates = append(updates, c)
	}
	if err := t.update(dlq, updates); err != nil {
		return err
	}
	return counters.write(t, dlq)
}

// idsOf returns the ids of the letters of changes, each once.
func idsOf(changes []change) []string {
	seen, ids := make(map[string]bool, len(changes)), []string{}
	for i := range changes {
		if id := changes[i].id; !seen[id] {
			seen[id] = true
			ids = append(ids, id)
		}
	}
	return ids
}

// latestChanges keeps the last change of each letter that applies to what was before it (see [deadletters.Last.Follow]).
func latestChanges(changes []change, before map[string]*row) []change {
	at := make(map[string]int, len(changes))
	var out []change
	for _, c := range changes {
		i, changed := at[c.id]
		var prev deadletters.State
		switch old := before[c.id]; {
		case changed && !out[i].removed:
			prev = out[i].state
		case !changed && old != nil && !old.State.At.IsZero():
			prev = deadletters.State{Status: old.Status, ReplayID: old.State.ReplayID, Writer: deadletters.WriterOf(header.Position{Topic: old.stateDLQ})}
		}
		readable := c.problem == "" && !c.removed
		switch {
		case readable && deadletters.LastOf(prev).Follow(c.state, prev.ReplayID == c.state.ReplayID) != deadletters.Applies:
		case changed:
			out[i] = c
		default:
			at[c.id] = len(out)
			out = append(out, c)
		}
	}
	return out
}

// update writes states, many per statement. All values are text, because rows of VALUES have no types in PostgreSQL.
func (t *tx) update(dlq int64, changes []change) error {
	return chunked(changes, func(some []change) error {
		args := make([]any, 0, len(some)*10+1)
		for _, c := range some {
			args = append(args, c.id, string(c.state.Status), strconv.Itoa(c.state.ReprocessCount), orNull(c.state.Reason),
				orNull(c.state.ReplayID), orNull(c.state.By), timeText(c.state.At), orNull(c.problem), dlqText(c.state), orNull(c.state.Destination))
		}
		_, err := t.affected(t.updateText(len(some)), append(args, dlq)...)
		return err
	})
}

// updateText returns the statement for n states. last_reprocess is the time of the state that raised reprocess_count.
func (t *tx) updateText(n int) string {
	at := "v.at"
	if t.engine == PostgreSQL {
		at = "CAST(v.at AS TIMESTAMPTZ)"
	}
	return "WITH v (id, status, reworked, reason, replay, who, at, problem, place, sent_to) AS (VALUES " + placeholders(n, 10) + ") " +
		"UPDATE @dead_letter_queue AS q SET status = v.status, resolution_note = v.reason, replay_id = v.replay, state_by = v.who, " +
		"state_at = " + at + ", state_problem = v.problem, state_dlq = v.place, state_to = v.sent_to, reprocess_count = CAST(v.reworked AS BIGINT), " +
		"last_reprocess = CASE WHEN CAST(v.reworked AS BIGINT) > q.reprocess_count THEN " + at + " ELSE q.last_reprocess END " +
		"FROM v WHERE q.id = v.id AND q.dlq = ?"
}

// dlqText returns the position of the record that a state is about; NULL without one.
func dlqText(s deadletters.State) any {
	if s.DLQ.Topic == "" {
		return nil
	}
	return plain(s.DLQ.String())
}

// orNull returns plain text; NULL for "".
func orNull(s string) any {
	if s == "" {
		return nil
	}
	return plain(s)
}

// timeText returns a time as text for both engines; the zero time is NULL.
func timeText(t time.Time) any { return SQLite.time(t) }
