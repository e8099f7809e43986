package dlqindex

import (
	"database/sql"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/switchback-geo/switchback/internal/deadletters"
)

// place returns the centre of a letter's bounding box. ok is false without one.
func (r *row) place() (x, y float64, ok bool) {
	if r.box == nil {
		box, err := deadletters.ParseBBox(r.Control.BBox)
		if err != nil {
			return 0, 0, false
		}
		r.box = &box
	}
	return centreOf(r.box)
}

// in gives the letter a state, as the counters see it.
func (r *row) in(s deadletters.State) { r.Status, r.State.ReprocessCount = s.Status, s.ReprocessCount }

// isReplayed reports whether a letter was put back at least once, by its header or by its state.
func (r *row) isReplayed() bool { return r.Replays() > 0 || r.Status == deadletters.Replaying }

// isReplayedSQL is isReplayed in SQL, as a number.
const isReplayedSQL = "CASE WHEN q.replay_count > 0 OR q.reprocess_count > 0 OR q.status = 'replaying' THEN 1 ELSE 0 END"

// countKey names a row of dead_letter_count.
type countKey struct {
	gone   bool
	group  string
	status deadletters.Status
}

// sums is what dead_letter_count counts.
type sums struct{ letters, bytes, replayed int64 }

// dayKey names a row of dead_letter_day.
type dayKey struct{ day, code, pipeline string }

// tally counts letters as the tables of counters do. While rows are written it has the differences.
type tally struct {
	counts map[countKey]sums
	days   map[dayKey]int64
	cells  map[cellKey]cellSums
}

func newTally() *tally {
	return &tally{counts: map[countKey]sums{}, days: map[dayKey]int64{}, cells: map[cellKey]cellSums{}}
}

// add counts a letter n times; -1 takes it out.
func (c *tally) add(r *row, n int64) {
	key := countKey{r.gone, r.Group, r.Status}
	s := c.counts[key]
	c.counts[key] = sums{s.letters + n, s.bytes + n*int64(r.Size), s.replayed + n*flag(r.isReplayed())}
	if !r.gone && r.Status == deadletters.Pending {
		c.days[dayKey{r.At.UTC().Format(time.DateOnly), plain(r.Control.ErrorCode), plain(r.Control.Pipeline)}] += n
	}
	if x, y, ok := r.place(); ok {
		c.addCells(r, x, y, n)
	}
}

// flag returns a boolean as both engines store it.
func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// trim removes the counters that are zero.
func (c *tally) trim() {
	maps.DeleteFunc(c.counts, func(_ countKey, s sums) bool { return s == sums{} })
	maps.DeleteFunc(c.days, func(_ dayKey, n int64) bool { return n == 0 })
	maps.DeleteFunc(c.cells, func(_ cellKey, s cellSums) bool { return s == cellSums{} })
}

// write adds the differences to the counters of a DLQ. The transaction holds the DLQ's lock.
func (c *tally) write(t *tx, dlq int64) error {
	c.trim()
	var counts, days [][]any
	for key, s := range c.counts {
		counts = append(counts, []any{dlq, flag(key.gone), key.group, string(key.status), s.letters, s.bytes, s.replayed})
	}
	for key, n := range c.days {
		days = append(days, []any{dlq, key.day, key.code, key.pipeline, n})
	}
	_, err := t.rows("INSERT INTO @dead_letter_count AS c (dlq, gone, group_id, status, letters, bytes, replayed) VALUES ", counts,
		" ON CONFLICT (dlq, gone, group_id, status) DO UPDATE SET letters = c.letters + excluded.letters, "+
			"bytes = c.bytes + excluded.bytes, replayed = c.replayed + excluded.replayed")
	if err != nil {
		return err
	}
	_, err = t.rows("INSERT INTO @dead_letter_day AS d (dlq, day, error_code, pipeline_name, pending) VALUES ", days,
		" ON CONFLICT (dlq, day, error_code, pipeline_name) DO UPDATE SET pending = d.pending + excluded.pending")
	if err != nil {
		return err
	}
	return c.writeCells(t, dlq)
}

// counters reads the counters of a DLQ.
func (t *tx) counters(dlq int64) (*tally, error) {
	c := newTally()
	err := t.found("SELECT gone, group_id, status, letters, bytes, replayed FROM @dead_letter_count WHERE dlq = ?", func(rows *sql.Rows) error {
		var key countKey
		var s sums
		err := rows.Scan(&key.gone, &key.group, &key.status, &s.letters, &s.bytes, &s.replayed)
		c.counts[key] = s
		return err
	}, dlq)
	if err != nil {
		return nil, err
	}
	err = t.found("SELECT day, error_code, pipeline_name, pending FROM @dead_letter_day WHERE dlq = ?", func(rows *sql.Rows) error {
		var key dayKey
		var n int64
		err := rows.Scan(&key.day, &key.code, &key.pipeline, &n)
		c.days[key] = n
		return err
	}, dlq)
	if err == nil {
		err = c.readCells(t, dlq)
	}
	c.trim()
	return c, err
}

// standings returns the narrow rows of letters. Letters that the table does not have are missing.
func (t *tx) standings(dlq int64, ids []string) (map[string]*row, error) {
	out := make(map[string]*row, len(ids))
	err := chunked(ids, func(some []string) error {
		return t.each("WHERE q.dlq = ? AND q.id IN "+placeholders(1, len(some)), func(r *row) error {
			out[r.ID] = r
			return nil
		}, append([]any{dlq}, arguments(some)...)...)
	})
	return out, err
}

// narrow lists the columns that say how a letter is counted, and in which state it is.
func narrow() []column {
	return kept(func(c column) bool {
		return slices.Contains([]string{
			"id", "pipeline_name", "rejected_at", "reprocess_count", "status", "gone", "group_id", "error_code", deathsColumn, firstColumn, "replay_count",
			"value_size", "bbox", "replay_id", "state_at", "state_dlq",
		}, c.name)
	})
}

// each calls fn for each row that a condition selects, with its narrow columns.
func (t *tx) each(where string, fn func(*row) error, args ...any) error {
	cols := narrow()
	return t.found("SELECT q."+strings.Join(nameList(cols), ", q.")+" FROM @dead_letter_queue AS q "+where, func(rows *sql.Rows) error {
		var r row
		if err := rows.Scan(r.targets(cols)...); err != nil {
			return err
		}
		return fn(&r)
	}, args...)
}

// markGone marks the letters of a partition that lie before the start of its log, and stores that start.
func (t *tx) markGone(dlq int64, of partition, start int64) (int, error) {
	if err := t.lock(dlq); err != nil {
		return 0, err
	}
	const lost = "WHERE q.dlq = ? AND q.gone = 0 AND q.dlq_partition = ? AND q.dlq_offset < ?"
	counters := newTally()
	err := t.each(lost, func(r *row) error {
		counters.add(r, -1)
		r.gone = true
		counters.add(r, 1)
		return nil
	}, dlq, of.number, start)
	if err != nil {
		return 0, err
	}
	gone, err := t.affected("UPDATE @dead_letter_queue AS q SET gone = 1, gone_at = ? "+lost, t.engine.time(time.Now()), dlq, of.number, start)
	if err != nil {
		return 0, err
	}
	if err := counters.write(t, dlq); err != nil {
		return 0, err
	}
	return gone, t.exec("UPDATE @dead_letter_position SET log_start = ? WHERE dlq = ? AND topic = ? AND topic_partition = ?", start, dlq, of.topic, of.number)
}

// expire deletes letters that are gone and were resolved before a time.
func (t *tx) expire(dlq int64, before time.Time) (int, error) {
	if err := t.lock(dlq); err != nil {
		return 0, err
	}
	c := &condition{engine: t.engine}
	c.add("q.dlq = ? AND q.gone = 1", dlq)
	among(c, "status", deadletters.Resolved())
	c.add("q.state_at < ?", t.engine.bound(before))
	counters := newTally()
	err := t.each(c.where(), func(r *row) error {
		counters.add(r, -1)
		return nil
	}, c.args...)
	if err != nil || len(counters.counts) == 0 {
		return 0, err
	}
	expired, err := t.affected("DELETE FROM @dead_letter_queue AS q"+c.where(), c.args...)
	if err != nil {
		return 0, err
	}
	return expired, counters.write(t, dlq)
}
