package dlqindex

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/switchback-geo/switchback/internal/deadletters"
)

// DayCount is how many letters of one day, code and pipeline are pending.
type DayCount struct {
	Day      string `json:"day"` // 2006-01-02, UTC
	Code     string `json:"code"`
	Pipeline string `json:"pipeline"`
	Letters  int    `json:"letters"`
}

// Stats counts the letters of a DLQ.
type Stats struct {
	Letters  int                        // that the topic has
	Statuses map[deadletters.Status]int // of those; the unreadable are under ""
	PutBack  int                        // of those discarded: a replay sent them to a topic where nobody reports what becomes of them
	Pending  []DayCount                 // the newest day first, then the most
	Lost     int                        // pending letters that retention deleted before anybody looked at them
	Oldest   *deadletters.Letter        // the pending letter whose first death was the earliest; nil if none is pending
	Earliest time.Time                  // time of the oldest record of a pending letter in the DLQ; zero if none is pending
}

// Stats reads the counters of a DLQ.
func (d *DLQ) Stats(ctx context.Context) (Stats, error) {
	out := Stats{Statuses: map[deadletters.Status]int{}}
	err := d.store.reading(ctx, func(t *tx) error {
		for _, step := range []func(*tx, *Stats) error{d.statuses, d.putBack, d.pending, d.oldest} {
			if err := step(t, &out); err != nil {
				return err
			}
		}
		return nil
	})
	return out, wrapped("count the dead letters of "+d.topic, err)
}

func (d *DLQ) statuses(t *tx, out *Stats) error {
	return t.found("SELECT gone, status, CAST(sum(letters) AS BIGINT) FROM @dead_letter_count WHERE dlq = ? GROUP BY gone, status", func(rows *sql.Rows) error {
		var gone bool
		var status deadletters.Status
		var letters int
		err := rows.Scan(&gone, &status, &letters)
		switch {
		case letters == 0:
		case !gone:
			out.Letters += letters
			out.Statuses[readable(status)] = letters
		case status == deadletters.Pending:
			out.Lost = letters
		}
		return err
	}, d.number)
}

func (d *DLQ) putBack(t *tx, out *Stats) error {
	from, args := d.sentAway(Query{})
	return t.row("SELECT count(*)"+from, args...).Scan(&out.PutBack)
}

func (d *DLQ) pending(t *tx, out *Stats) error {
	err := t.found("SELECT day, error_code, pipeline_name, pending FROM @dead_letter_day WHERE dlq = ? AND pending > 0", func(rows *sql.Rows) error {
		var n DayCount
		err := rows.Scan(&n.Day, &n.Code, &n.Pipeline, &n.Letters)
		out.Pending = append(out.Pending, n)
		return err
	}, d.number)
	slices.SortFunc(out.Pending, func(a, b DayCount) int {
		return cmp.Or(cmp.Compare(b.Day, a.Day), cmp.Compare(b.Letters, a.Letters), cmp.Compare(a.Code, b.Code), cmp.Compare(a.Pipeline, b.Pipeline))
	})
	return err
}

// oldest finds the oldest pending letter by its first death, and the oldest record of a pending letter: that lies on the
// first day on which one is pending.
func (d *DLQ) oldest(t *tx, out *Stats) error {
	if len(out.Pending) == 0 {
		return nil
	}
	const waiting = "WHERE q.dlq = ? AND q.gone = 0 AND q.status = 'pending' "
	var ids []string
	err := t.each(waiting+"ORDER BY q.first_rejected_at, q.dlq_partition, q.dlq_offset LIMIT 1", func(r *row) error {
		ids = append(ids, r.ID)
		return nil
	}, d.number)
	if err != nil {
		return err
	}
	letters, err := d.read(t, ids)
	if err != nil {
		return err
	}
	if len(letters) > 0 {
		out.Oldest = &letters[0]
	}
	day, err := time.Parse(time.DateOnly, out.Pending[len(out.Pending)-1].Day)
	if err != nil {
		return fmt.Errorf("read a day of the index: %w", err)
	}
	return t.each(waiting+"AND q.rejected_at >= ? ORDER BY q.rejected_at LIMIT 1", func(r *row) error {
		out.Earliest = r.At
		return nil
	}, d.number, t.engine.time(day))
}
