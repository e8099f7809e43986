package dlqindex

import (
	"database/sql"
	"slices"
	"strings"
	"time"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// standing is what the table has of one letter before a change.
type standing struct {
	counted                   counted
	deaths, replays, reworked int    // records; replays by its header; by its state
	replay, speaksOf          string // the last replay of its state; the record that the state names, "" of an outcome
	stated                    bool   // it has a state
	first                     time.Time
}

// state returns what [deadletters.Last] needs of it.
func (s *standing) state() deadletters.State {
	return deadletters.State{Status: s.counted.status, ReplayID: s.replay, Writer: deadletters.WriterOf(header.Position{Topic: s.speaksOf})}
}

// in returns what the counters need of the letter in another state.
func (s *standing) in(status deadletters.Status, reworked int) counted {
	c := s.counted
	c.status, c.replayed = status, isReplayed(status, s.replays, reworked)
	return c
}

// standings returns what the table has of letters. Letters that it does not have are missing.
func (t *tx) standings(dlq int64, ids []string) (map[string]*standing, error) {
	out := make(map[string]*standing, len(ids))
	err := chunked(ids, func(some []string) error {
		return t.each("WHERE q.dlq = ? AND q.id IN "+placeholders(1, len(some)), func(r *row) error {
			out[r.ID] = &standing{
				counted: r.counted(), deaths: r.Deaths, replays: r.Control.ReplayCount, reworked: r.State.ReprocessCount,
				replay: r.State.ReplayID, speaksOf: r.stateDLQ, stated: !r.State.At.IsZero(), first: r.FirstAt,
			}
			return nil
		}, append([]any{dlq}, arguments(some)...)...)
	})
	return out, err
}

// narrow lists the columns that standings and counters are read from.
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
func (t *tx) markGone(dlq int64, topic string, p int32, start int64) (int, error) {
	if err := t.lock(dlq); err != nil {
		return 0, err
	}
	const lost = "WHERE q.dlq = ? AND q.gone = 0 AND q.dlq_partition = ? AND q.dlq_offset < ?"
	counters := newTally()
	err := t.each(lost, func(r *row) error {
		counters.add(r.counted(), -1)
		r.gone = true
		counters.add(r.counted(), 1)
		return nil
	}, dlq, p, start)
	if err != nil {
		return 0, err
	}
	gone, err := t.affected("UPDATE @dead_letter_queue AS q SET gone = 1, gone_at = ? "+lost, t.engine.time(time.Now()), dlq, p, start)
	if err != nil {
		return 0, err
	}
	if err := counters.write(t, dlq); err != nil {
		return 0, err
	}
	return gone, t.exec("UPDATE @dead_letter_position SET log_start = ? WHERE dlq = ? AND topic = ? AND topic_partition = ?", start, dlq, topic, p)
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
		counters.add(r.counted(), -1)
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
