package index

import (
	"cmp"
	"maps"
	"slices"

	"github.com/switchback-geo/switchback/internal/deadletters"
)

// place is a row of dead_letter_count: letters that are counted together.
type place struct {
	gone                 int64
	group, pipeline, day string
	status               deadletters.Status
}

// standing is how one letter stands in the table: where it is counted, and as what.
type standing struct {
	place
	bytes                     int64
	deaths, replays, reworked int // records; replays by its header; by its state
}

// replayed reports whether it has been put back at least once.
func (s standing) replayed() bool {
	return s.replays > 0 || s.reworked > 0 || s.status == deadletters.Replaying
}

// standingOf is how a letter stands that has no state yet.
func standingOf(r *row) standing {
	return standing{
		place: place{group: r.Group, pipeline: plain(r.Control.Pipeline), day: r.At.UTC().Format(dayLayout), status: deadletters.Pending},
		bytes: int64(r.Size), deaths: r.Deaths, replays: r.Control.ReplayCount,
	}
}

const dayLayout = "2006-01-02"

type sums struct{ letters, bytes, replayed int64 }

// deltas is what one transaction changes in dead_letter_count.
type deltas map[place]sums

func (d deltas) add(s standing)  { d.shift(s, 1) }
func (d deltas) take(s standing) { d.shift(s, -1) }

func (d deltas) shift(s standing, by int64) {
	n := d[s.place]
	n.letters += by
	n.bytes += by * s.bytes
	if s.replayed() {
		n.replayed += by
	}
	d[s.place] = n
}

// write applies the deltas, in one order in every process.
func (d deltas) write(t *tx, dlq int64) error {
	order := func(a, b place) int {
		return cmp.Or(cmp.Compare(a.gone, b.gone), cmp.Compare(a.group, b.group), cmp.Compare(a.pipeline, b.pipeline),
			cmp.Compare(a.day, b.day), cmp.Compare(a.status, b.status))
	}
	var values [][]any
	for _, p := range slices.SortedFunc(maps.Keys(d), order) {
		if n := d[p]; n != (sums{}) {
			values = append(values, []any{dlq, p.gone, p.group, p.pipeline, p.day, string(p.status), n.letters, n.bytes, n.replayed})
		}
	}
	_, err := t.rows("INSERT INTO @dead_letter_count AS c (dlq, gone, group_id, pipeline_name, day, status, letters, bytes, replayed) VALUES ", values,
		" ON CONFLICT (dlq, gone, group_id, pipeline_name, day, status) DO UPDATE SET "+
			"letters = c.letters + excluded.letters, bytes = c.bytes + excluded.bytes, replayed = c.replayed + excluded.replayed")
	return err
}
