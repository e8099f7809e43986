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
	lost := " FROM @dead_letter_queue WHERE dlq = ? AND gone = 0 AND dlq_partition = ? AND dlq_offset < ?"
	rows, err := t.query("SELECT group_id, pipeline_name, "+t.engine.day("rejected_at")+", status, count(*), sum(value_size), "+
		"sum(CASE WHEN replay_count > 0 OR reprocess_count > 0 OR status = '"+string(deadletters.Replaying)+"' THEN 1 ELSE 0 END)"+
		lost+" GROUP BY 1, 2, 3, 4", dlq, p, start)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	d, gone := deltas{}, 0
	for rows.Next() {
		var from place
		var n sums
		if err := rows.Scan(&from.group, &from.pipeline, &from.day, &from.status, &n.letters, &n.bytes, &n.replayed); err != nil {
			return 0, err
		}
		to := from
		to.gone = 1
		d[from], d[to] = sums{-n.letters, -n.bytes, -n.replayed}, n
		gone += int(n.letters)
	}
	if err := rows.Err(); err != nil {
		return 0, err
	}
	if gone > 0 {
		err = t.exec("UPDATE @dead_letter_queue SET gone = 1, gone_at = ? WHERE dlq = ? AND gone = 0 AND dlq_partition = ? AND dlq_offset < ?",
			t.engine.time(time.Now()), dlq, p, start)
		if err != nil {
			return 0, err
		}
	}
	if err := d.write(t, dlq); err != nil {
		return 0, err
	}
	return gone, t.exec("UPDATE @dead_letter_position SET log_start = ? WHERE dlq = ? AND topic = ? AND topic_partition = ?", start, dlq, topic, p)
}

// day is the expression for a time's day (UTC) as text.
func (e Engine) day(column string) string {
	if e == PostgreSQL {
		return "to_char(" + column + " AT TIME ZONE 'UTC', 'YYYY-MM-DD')"
	}
	return "substr(" + column + ", 1, 10)"
}
