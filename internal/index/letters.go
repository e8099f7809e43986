package index

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/switchback-geo/switchback/internal/deadletters"
)

// ErrNotIndexed marks a DLQ that the index does not have. Match it with errors.Is.
var ErrNotIndexed = errors.New("this DLQ is not in the index yet; run: replayer index")

// ErrNoLetter marks an id that no letter has. Match it with errors.Is.
var ErrNoLetter = errors.New("no such dead letter")

// DLQ is one indexed DLQ.
type DLQ struct {
	store  *Store
	number int64
	topic  string
}

// DLQ finds a DLQ by its cluster and topic. The error is [ErrNotIndexed] when it was never synced.
func (s *Store) DLQ(ctx context.Context, cluster, topic string) (*DLQ, error) {
	d := &DLQ{store: s, topic: topic}
	err := s.row(ctx, "SELECT dlq FROM @dead_letter_source WHERE cluster_id = ? AND topic = ?", cluster, topic).Scan(&d.number)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("%s: %w", topic, ErrNotIndexed)
	}
	return d, wrapped("look for "+topic+" in the index", err)
}

// Letters calls fn for each selected letter, the oldest death first, at most q.Limit of them.
// They have no content; of the control headers they have those that the table has. An error of
// fn ends it and is returned as it is.
func (d *DLQ) Letters(ctx context.Context, q Query, fn func(deadletters.Letter) error) error {
	where := q.where(d.store.engine, d.number)
	cols := readColumns()
	text := "SELECT " + names(cols) + " FROM @dead_letter_queue" + where.text() + " ORDER BY rejected_at, dlq_partition, dlq_offset"
	if q.Limit > 0 {
		text += fmt.Sprintf(" LIMIT %d", q.Limit)
	}
	rows, err := d.store.query(ctx, text, where.args...)
	if err != nil {
		return wrapped("select letters of "+d.topic, err)
	}
	defer rows.Close()
	for rows.Next() {
		var r row
		if err := rows.Scan(r.targets(cols)...); err != nil {
			return wrapped("read a letter of "+d.topic, err)
		}
		if err := fn(r.finish(d.topic)); err != nil {
			return err
		}
	}
	return wrapped("read the letters of "+d.topic, rows.Err())
}

// Letter gives one letter, gone or not, and its raw_record. The error is [ErrNoLetter] when none
// has the id.
func (d *DLQ) Letter(ctx context.Context, id string) (deadletters.Letter, string, error) {
	var r row
	cols := readColumns()
	err := d.store.row(ctx, "SELECT "+names(cols)+", raw_record FROM @dead_letter_queue WHERE id = ? AND dlq = ?",
		id, d.number).Scan(append(r.targets(cols), &r.raw)...)
	if errors.Is(err, sql.ErrNoRows) {
		return deadletters.Letter{}, "", fmt.Errorf("%w: %s in %s; replayer list shows the ids", ErrNoLetter, id, d.topic)
	}
	return r.finish(d.topic), r.raw, wrapped("read letter "+id, err)
}
