package index

import (
	"context"
	"database/sql"
	"errors"

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
	Pending  []DayCount                 // the newest day first, then the most
	Lost     int                        // pending letters that retention took: features that nobody looked after
	Oldest   *deadletters.Letter        // the pending letter that died first; nil when none is pending
}

// Stats answers from what is counted already, whatever the number of letters.
func (d *DLQ) Stats(ctx context.Context) (Stats, error) {
	s := Stats{Statuses: map[deadletters.Status]int{}}
	for _, step := range []func(context.Context, *Stats) error{d.byStatus, d.pendingByDay, d.oldest} {
		if err := step(ctx, &s); err != nil {
			return Stats{}, wrapped("count the letters of "+d.topic, err)
		}
	}
	return s, nil
}

func (d *DLQ) byStatus(ctx context.Context, s *Stats) error {
	rows, err := d.store.query(ctx, "SELECT gone, status, sum(letters) FROM @dead_letter_count WHERE dlq = ? AND letters > 0 GROUP BY gone, status", d.number)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var gone, letters int
		var status deadletters.Status
		if err := rows.Scan(&gone, &status, &letters); err != nil {
			return err
		}
		switch {
		case gone == 0 && status == unreadable:
			s.Statuses[""] += letters
		case gone == 0:
			s.Statuses[status] += letters
		case status == deadletters.Pending:
			s.Lost += letters
		}
		if gone == 0 {
			s.Letters += letters
		}
	}
	return rows.Err()
}

func (d *DLQ) pendingByDay(ctx context.Context, s *Stats) error {
	rows, err := d.store.query(ctx, "SELECT c.day, g.code, c.pipeline_name, sum(c.letters) FROM @dead_letter_count AS c "+
		"JOIN @dead_letter_group AS g ON g.dlq = c.dlq AND g.group_id = c.group_id "+
		"WHERE c.dlq = ? AND c.gone = 0 AND c.status = 'pending' AND c.letters > 0 "+
		"GROUP BY c.day, g.code, c.pipeline_name ORDER BY c.day DESC, sum(c.letters) DESC, g.code, c.pipeline_name", d.number)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var n DayCount
		if err := rows.Scan(&n.Day, &n.Code, &n.Pipeline, &n.Letters); err != nil {
			return err
		}
		s.Pending = append(s.Pending, n)
	}
	return rows.Err()
}

func (d *DLQ) oldest(ctx context.Context, s *Stats) error {
	var r row
	cols := readColumns()
	err := d.store.row(ctx, "SELECT "+names(cols)+" FROM @dead_letter_queue WHERE dlq = ? AND gone = 0 AND status = 'pending' "+
		"ORDER BY rejected_at, dlq_partition, dlq_offset LIMIT 1", d.number).Scan(r.targets(cols)...)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	l := r.finish(d.topic)
	s.Oldest = &l
	return nil
}
