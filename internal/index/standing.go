package index

import (
	"database/sql"
	"time"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// standing is how one letter stands in the table.
type standing struct {
	at                        place
	status                    deadletters.Status
	gone                      bool
	deaths, replays, reworked int    // records; replays by its header; by its state
	replay, speaksOf          string // the last replay of its state; the record that the state names, "" of an outcome
	stated                    bool   // it has a state
	first                     int64  // its first death, in milliseconds since 1970
}

// state is what [deadletters.Last] needs of it.
func (s standing) state() deadletters.State {
	return deadletters.State{Status: s.status, ReplayID: s.replay, Writer: deadletters.WriterOf(retrytopics.Position{Topic: s.speaksOf})}
}

// mark is a standing as a block has it. Replayed is a letter that was put back at least once.
func (s standing) mark() mark {
	return markOf(s.status, s.gone, s.replays > 0 || s.reworked > 0 || s.status == deadletters.Replaying)
}

// standingOf is how a letter stands that has no state yet.
func standingOf(r *row) standing {
	return standing{
		at: place{r.DLQ.Partition, r.DLQ.Offset}, status: deadletters.Pending, deaths: r.Deaths, replays: r.Control.ReplayCount,
		first: r.At.UnixMilli(),
	}
}

// standings gives how letters stand in the table; those that it does not have are missing.
func (t *tx) standings(dlq int64, ids []string) (map[string]standing, error) {
	out := make(map[string]standing, len(ids))
	err := chunked(ids, func(some []string) error {
		args := make([]any, 0, len(some)+1)
		args = append(args, dlq)
		for _, id := range some {
			args = append(args, id)
		}
		return t.found("SELECT id, gone, dlq_partition, dlq_offset, status, deaths, replay_count, reprocess_count, replay_id, state_dlq, state_at, first_rejected_at "+
			"FROM @dead_letter_queue WHERE dlq = ? AND id IN "+placeholders(1, len(some)), func(rows *sql.Rows) error {
			var id string
			var gone int
			var s standing
			var replay, speaksOf sql.NullString
			var at any
			var first time.Time
			err := rows.Scan(&id, &gone, &s.at.partition, &s.at.offset, &s.status, &s.deaths, &s.replays, &s.reworked, &replay, &speaksOf, &at, stamp{&first})
			s.first = first.UnixMilli()
			s.gone, s.replay, s.speaksOf, s.stated = gone == 1, replay.String, speaksOf.String, at != nil
			out[id] = s
			return err
		}, args...)
	})
	return out, err
}

// markGone marks the letters of a partition that lie before the start of its log, and notes that
// start.
func (t *tx) markGone(dlq int64, topic string, p int32, start int64) (int, error) {
	if err := t.lock(dlq); err != nil {
		return 0, err
	}
	gone, err := t.affected("UPDATE @dead_letter_queue SET gone = 1, gone_at = ? WHERE dlq = ? AND dlq_partition = ? AND dlq_offset < ? AND gone = 0",
		t.engine.time(time.Now()), dlq, p, start)
	if err != nil {
		return 0, err
	}
	if gone > 0 {
		b := t.blocks(dlq)
		if err := b.lose(p, start); err != nil {
			return 0, err
		}
		if err := b.write(); err != nil {
			return 0, err
		}
	}
	return gone, t.exec("UPDATE @dead_letter_position SET log_start = ? WHERE dlq = ? AND topic = ? AND topic_partition = ?", start, dlq, topic, p)
}

// expire ends the rows of letters that are gone and were resolved before a time.
func (t *tx) expire(dlq int64, before time.Time) (int, error) {
	if err := t.lock(dlq); err != nil {
		return 0, err
	}
	c := &condition{engine: t.engine}
	c.add("dlq = ? AND gone = 1", dlq)
	among(c, "status", deadletters.Resolved())
	c.add("state_at < ?", t.engine.bound(before))
	b := t.blocks(dlq)
	var places []place
	err := t.found("SELECT dlq_partition, dlq_offset FROM @dead_letter_queue"+c.text(), func(rows *sql.Rows) error {
		var at place
		err := rows.Scan(&at.partition, &at.offset)
		places = append(places, at)
		return err
	}, c.args...)
	if err != nil || len(places) == 0 {
		return 0, err
	}
	for _, at := range places {
		if err := b.empty(at); err != nil {
			return 0, err
		}
	}
	if err := b.write(); err != nil {
		return 0, err
	}
	return len(places), t.exec("DELETE FROM @dead_letter_queue"+c.text(), c.args...)
}
