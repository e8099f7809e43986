package index

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

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
	var refused error // by fn
	err := d.store.reading(ctx, func(t *tx) error {
		places, err := d.oldest(t, q)
		if err != nil {
			return err
		}
		for page := range slices.Chunk(places, pageLetters) {
			letters, err := d.page(t, Query{}, page)
			if err != nil {
				return err
			}
			for _, l := range letters {
				if refused = fn(l); refused != nil {
					return refused
				}
			}
		}
		return nil
	})
	if refused != nil {
		return refused
	}
	return wrapped("select dead letters of "+d.topic, err)
}

// pageLetters is how many rows are read together: so many that their places lie close together.
const pageLetters = 2000

// page reads letters, in the order of their places, of those that the query asks of their rows.
func (d *DLQ) page(t *tx, q Query, places []place) ([]deadletters.Letter, error) {
	cols := readColumns()
	at := make(map[place]deadletters.Letter, len(places))
	err := d.rowsAt(t, q, names(cols), places, func(rows *sql.Rows) error {
		var r row
		if err := rows.Scan(r.targets(cols)...); err != nil {
			return err
		}
		at[place{r.DLQ.Partition, r.DLQ.Offset}] = r.finish(d.topic)
		return nil
	})
	out := make([]deadletters.Letter, 0, len(at))
	for _, p := range places {
		if l, ok := at[p]; ok {
			out = append(out, l)
		}
	}
	return out, err
}

// oldest gives the places of the selected letters, the oldest death first, at most q.Limit.
//
// Where rows have to be asked and only the first letters are wanted, the oldest candidates are
// asked first: what many letters have is found there, and need not be looked for in all.
func (d *DLQ) oldest(t *tx, q Query) ([]place, error) {
	if q.Limit > 0 && q.asksRows() {
		found, enough, err := d.oldestOfFew(t, q)
		if err != nil || enough {
			return found, err
		}
	}
	first := earliest{limit: q.Limit}
	err := d.find(t, q, first.add)
	return first.places(), err
}

// fewCandidates is how many are asked before all are.
const fewCandidates = 4 * pageLetters

// oldestOfFew looks among the oldest candidates, and says whether it needs no more.
func (d *DLQ) oldestOfFew(t *tx, q Query) (found []place, enough bool, err error) {
	first := earliest{limit: fewCandidates}
	if err := d.candidates(t, q, nil, first.add); err != nil {
		return nil, false, err
	}
	places := first.places()
	rest, size := places, min(2*q.Limit, pageLetters)
	for len(rest) > 0 {
		page := rest[:min(size, len(rest))]
		rest, size = rest[len(page):], min(2*size, pageLetters)
		letters, err := d.page(t, q, page)
		if err != nil {
			return nil, false, err
		}
		for _, l := range letters {
			found = append(found, place{l.DLQ.Partition, l.DLQ.Offset})
			if len(found) == q.Limit {
				return found, true, nil
			}
		}
	}
	return found, len(places) < fewCandidates, nil
}

// earliest keeps the candidates that died first.
type earliest struct {
	limit int // 0 keeps all
	list  []death
	full  bool // the list begins with so many, sorted
}

// death is when and where a letter died.
type death struct {
	at int64
	place
}

func (d death) compare(o death) int {
	if d.at != o.at { // almost always
		return cmp.Compare(d.at, o.at)
	}
	return cmp.Or(cmp.Compare(d.partition, o.partition), cmp.Compare(d.offset, o.offset))
}

// add takes candidates. It sorts when it has many more than it keeps, so that each costs little.
func (e *earliest) add(some []candidate) error {
	for i := range some {
		c := &some[i]
		if e.full && c.at > e.list[e.limit-1].at {
			continue
		}
		e.list = append(e.list, death{c.at, c.place})
		if e.limit > 0 && len(e.list) >= 2*e.limit+pageLetters {
			e.cut()
		}
	}
	return nil
}

func (e *earliest) cut() {
	slices.SortFunc(e.list, death.compare)
	if e.limit > 0 && len(e.list) > e.limit {
		e.list, e.full = e.list[:e.limit], true
	}
}

func (e *earliest) places() []place {
	e.cut()
	out := make([]place, len(e.list))
	for i := range e.list {
		out[i] = e.list[i].place
	}
	return out
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
	return r.finish(d.topic), r.raw, wrapped("read dead letter "+id, err)
}
