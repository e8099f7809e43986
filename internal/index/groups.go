package index

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"time"

	"github.com/switchback-geo/switchback/internal/deadletters"
)

// Groups gives the groups of the selected letters, the largest first, then by id. A limit bounds
// the groups, not the letters that are counted.
func (d *DLQ) Groups(ctx context.Context, q Query) ([]deadletters.Group, error) {
	var out []deadletters.Group
	err := d.store.reading(ctx, func(t *tx) error {
		var g grouping
		if err := d.find(t, q, g.add); err != nil {
			return err
		}
		var err error
		out, err = d.groups(t, g.sums, q.Limit)
		return err
	})
	return out, wrapped("group the dead letters of "+d.topic, err)
}

// sum is what is counted of the letters of one group.
type sum struct {
	letters  int
	bytes    int64
	replayed int
	statuses [maxStatuses]int // by their numbers in marks
	first    int64
	last     death
}

// grouping counts letters by group.
type grouping struct{ sums []sum } // by the number of the group

func (g *grouping) add(some []candidate) error {
	for i := range some {
		c := &some[i]
		g.sums = grown(g.sums, c.group)
		s := &g.sums[c.group]
		seen := death{c.at, c.place}
		if s.letters == 0 || c.at < s.first {
			s.first = c.at
		}
		if s.letters == 0 || seen.compare(s.last) > 0 {
			s.last = seen
		}
		s.letters++
		s.bytes += int64(c.size)
		s.statuses[c.mark[0]]++
		if c.replayed() {
			s.replayed++
		}
	}
	return nil
}

// grown is a list that has a place for a number.
func grown[T any](list []T, number uint32) []T {
	if missing := int(number) + 1 - len(list); missing > 0 {
		list = append(list, make([]T, missing)...)
	}
	return list
}

// causes gives what the groups of a DLQ stand for, by their numbers.
func (d *DLQ) causes(t *tx) (map[uint32]deadletters.Group, error) {
	out := map[uint32]deadletters.Group{}
	err := t.found("SELECT n.number, g.group_id, g.code, g.stage, g.message FROM @dead_letter_name AS n "+
		"JOIN @dead_letter_group AS g ON g.dlq = n.dlq AND g.group_id = n.name WHERE n.dlq = ? AND n.kind = 'group'",
		func(rows *sql.Rows) error {
			var number uint32
			var g deadletters.Group
			err := rows.Scan(&number, &g.ID, &g.Code, &g.Stage, &g.Message)
			out[number] = g
			return err
		}, d.number)
	return out, err
}

// groups makes groups of what was counted, and finds the example of each.
func (d *DLQ) groups(t *tx, sums []sum, limit int) ([]deadletters.Group, error) {
	causes, err := d.causes(t)
	if err != nil {
		return nil, err
	}
	var out []deadletters.Group
	last := map[string]place{}
	for number, s := range sums {
		if s.letters == 0 {
			continue
		}
		g := causes[uint32(number)]
		g.Count, g.Bytes, g.Replayed, g.Statuses = s.letters, s.bytes, s.replayed, statusesOf(s.statuses[:])
		g.FirstSeen, g.LastSeen = time.UnixMilli(s.first).UTC(), time.UnixMilli(s.last.at).UTC()
		last[g.ID] = s.last.place
		out = append(out, g)
	}
	slices.SortFunc(out, func(a, b deadletters.Group) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.ID, b.ID))
	})
	if limit > 0 && len(out) > limit {
		out = out[:limit]
	}
	return out, d.examples(t, out, last)
}

// statusesOf gives counts that are by the numbers of statuses; the unreadable are under "".
func statusesOf(counts []int) map[deadletters.Status]int {
	out := map[deadletters.Status]int{}
	for i, s := range markStatuses() {
		if n := counts[i+1]; n > 0 {
			if s == unreadable {
				s = ""
			}
			out[s] = n
		}
	}
	return out
}

// examples adds the letter of each group that died last.
func (d *DLQ) examples(t *tx, groups []deadletters.Group, last map[string]place) error {
	places := make([]place, len(groups))
	at := make(map[place]*deadletters.Group, len(groups))
	for i := range groups {
		places[i] = last[groups[i].ID]
		at[places[i]] = &groups[i]
	}
	return d.rowsAt(t, Query{}, "dlq_partition, dlq_offset, id, error_message", places, func(rows *sql.Rows) error {
		var p place
		var id, said string
		err := rows.Scan(&p.partition, &p.offset, &id, &said)
		if g := at[p]; g != nil {
			g.Example, g.Said = id, said
		}
		return err
	})
}
