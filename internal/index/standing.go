package index

import (
	"database/sql"
	"time"

	"github.com/switchback-geo/switchback/internal/deadletters"
)

// standings gives how letters stand in the table; those that it does not have are missing.
func (t *tx) standings(dlq int64, ids []string) (map[string]standing, error) {
	out := make(map[string]standing, len(ids))
	err := chunked(ids, func(some []string) error {
		args := make([]any, 0, len(some)+1)
		args = append(args, dlq)
		for _, id := range some {
			args = append(args, id)
		}
		return t.found("SELECT id, gone, group_id, pipeline_name, rejected_at, status, value_size, deaths, replay_count, reprocess_count "+
			"FROM @dead_letter_queue WHERE dlq = ? AND id IN "+placeholders(1, len(some)), func(rows *sql.Rows) error {
			var id string
			var at time.Time
			var s standing
			if err := rows.Scan(&id, &s.gone, &s.group, &s.pipeline, stamp{&at}, &s.status, &s.bytes, &s.deaths, &s.replays, &s.reworked); err != nil {
				return err
			}
			s.day = at.UTC().Format(dayLayout)
			out[id] = s
			return nil
		}, args...)
	})
	return out, err
}

// markGone marks the letters of a partition that lie before the start of its log, counts them
// anew, and notes that start.
func (t *tx) markGone(dlq int64, topic string, p int32, start int64) (int, error) {
	c := &condition{engine: t.engine}
	c.add("dlq = ? AND gone = 0 AND dlq_partition = ? AND dlq_offset < ?", dlq, p, start)
	counts, err := t.counts(c)
	if err != nil {
		return 0, err
	}
	d, gone := deltas{}, 0
	for from, n := range counts {
		to := from
		to.gone = 1
		d[from], d[to] = sums{-n.letters, -n.bytes, -n.replayed}, n
		gone += int(n.letters)
	}
	if gone > 0 {
		if err := t.exec("UPDATE @dead_letter_queue SET gone = 1, gone_at = ?"+c.text(), append([]any{t.engine.time(time.Now())}, c.args...)...); err != nil {
			return 0, err
		}
	}
	if err := d.write(t, dlq); err != nil {
		return 0, err
	}
	return gone, t.exec("UPDATE @dead_letter_position SET log_start = ? WHERE dlq = ? AND topic = ? AND topic_partition = ?", start, dlq, topic, p)
}

// expire ends the rows of letters that are gone and were resolved before a time.
func (t *tx) expire(dlq int64, before time.Time) (int, error) {
	c := &condition{engine: t.engine}
	c.add("dlq = ? AND gone = 1", dlq)
	among(c, "status", deadletters.Resolved())
	c.add("state_at < ?", t.engine.bound(before))
	counts, err := t.counts(c)
	if err != nil || len(counts) == 0 {
		return 0, err
	}
	d, expired := deltas{}, 0
	for from, n := range counts {
		d[from] = sums{-n.letters, -n.bytes, -n.replayed}
		expired += int(n.letters)
	}
	if err := t.exec("DELETE FROM @dead_letter_queue"+c.text(), c.args...); err != nil {
		return 0, err
	}
	return expired, d.write(t, dlq)
}

// counts counts letters by where they are counted.
func (t *tx) counts(c *condition) (map[place]sums, error) {
	rows, err := t.query(t.engine.countsOf(c.text()), c.args...)
	if err != nil {
		return nil, err
	}
	return readCounts(rows)
}

// countsOf is the query that counts letters by where they are counted; where begins with its keyword.
func (e Engine) countsOf(where string) string {
	return "SELECT gone, group_id, pipeline_name, " + e.day("rejected_at") + ", status, count(*), sum(value_size), " + replayedSum +
		" FROM @dead_letter_queue" + where + " GROUP BY 1, 2, 3, 4, 5"
}

// readCounts reads rows of a place and its sums, and closes them.
func readCounts(rows *sql.Rows) (map[place]sums, error) {
	defer rows.Close()
	out := map[place]sums{}
	for rows.Next() {
		var p place
		var n sums
		if err := rows.Scan(&p.gone, &p.group, &p.pipeline, &p.day, &p.status, &n.letters, &n.bytes, &n.replayed); err != nil {
			return nil, err
		}
		out[p] = n
	}
	return out, rows.Err()
}

// replayedSum counts the letters that were put back at least once, as [standing.replayed] says.
const replayedSum = "sum(CASE WHEN replay_count > 0 OR reprocess_count > 0 OR status = '" + string(deadletters.Replaying) + "' THEN 1 ELSE 0 END)"

// day is the expression for a time's day (UTC) as text.
func (e Engine) day(column string) string {
	if e == PostgreSQL {
		return "to_char(" + column + " AT TIME ZONE 'UTC', 'YYYY-MM-DD')"
	}
	return "substr(" + column + ", 1, 10)"
}
