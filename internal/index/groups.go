package index

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/switchback-geo/switchback/internal/deadletters"
)

// Groups gives the groups of the selected letters, the largest first, then by id. A limit bounds
// the groups, not the letters that are counted.
//
// A selection by code, group and status is answered from what is counted already, whatever the
// number of letters; any other goes through the letters.
func (d *DLQ) Groups(ctx context.Context, q Query) ([]deadletters.Group, error) {
	count := d.scanned
	if counted(q) {
		count = d.counted
	}
	groups, err := count(ctx, q)
	if err != nil {
		return nil, wrapped("group the letters of "+d.topic, err)
	}
	slices.SortFunc(groups, func(a, b *deadletters.Group) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.ID, b.ID))
	})
	if q.Limit > 0 && len(groups) > q.Limit {
		groups = groups[:q.Limit]
	}
	out := make([]deadletters.Group, len(groups))
	for i, g := range groups {
		if err := d.ends(ctx, q, g); err != nil {
			return nil, wrapped("group the letters of "+d.topic, err)
		}
		out[i] = *g
	}
	return out, nil
}

// counted reports whether dead_letter_count can answer.
func counted(q Query) bool {
	return len(q.IDs) == 0 && len(q.Features) == 0 && len(q.Pipelines) == 0 && len(q.Runs) == 0 && len(q.Headers) == 0 &&
		q.BBox == nil && q.Text == "" && q.Since.IsZero() && q.Until.IsZero()
}

// counted groups what dead_letter_count has.
func (d *DLQ) counted(ctx context.Context, q Query) ([]*deadletters.Group, error) {
	gone := 0
	if q.Gone {
		gone = 1
	}
	c := &condition{engine: d.store.engine}
	c.add("c.dlq = ? AND c.gone = ? AND c.letters > 0", d.number, gone)
	among(c, "g.code", q.Codes)
	among(c, "c.group_id", q.Groups)
	among(c, "c.status", q.Statuses)
	return d.collect(ctx, "SELECT c.group_id, g.code, g.stage, g.message, c.status, sum(c.letters), sum(c.bytes), sum(c.replayed) "+
		"FROM @dead_letter_count AS c JOIN @dead_letter_group AS g ON g.dlq = c.dlq AND g.group_id = c.group_id"+c.text()+
		" GROUP BY c.group_id, g.code, g.stage, g.message, c.status", c.args)
}

// scanned groups the letters themselves.
func (d *DLQ) scanned(ctx context.Context, q Query) ([]*deadletters.Group, error) {
	c := q.where(d.store.engine, d.number)
	return d.collect(ctx, "SELECT n.group_id, g.code, g.stage, g.message, n.status, n.letters, n.bytes, n.replayed FROM "+
		"(SELECT group_id, status, count(*) AS letters, sum(value_size) AS bytes, "+
		"sum(CASE WHEN replay_count > 0 OR reprocess_count > 0 OR status = '"+string(deadletters.Replaying)+"' THEN 1 ELSE 0 END) AS replayed "+
		"FROM @dead_letter_queue"+c.text()+" GROUP BY group_id, status) AS n "+
		"JOIN @dead_letter_group AS g ON g.dlq = ? AND g.group_id = n.group_id", append(c.args, d.number))
}

// collect makes groups of rows by group and status.
func (d *DLQ) collect(ctx context.Context, text string, args []any) ([]*deadletters.Group, error) {
	rows, err := d.store.query(ctx, text, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	byID := map[string]*deadletters.Group{}
	var out []*deadletters.Group
	for rows.Next() {
		var g deadletters.Group
		var status deadletters.Status
		if err := rows.Scan(&g.ID, &g.Code, &g.Stage, &g.Message, &status, &g.Count, &g.Bytes, &g.Replayed); err != nil {
			return nil, err
		}
		if status == unreadable {
			status = ""
		}
		sum := byID[g.ID]
		if sum == nil {
			sum = &deadletters.Group{ID: g.ID, Code: g.Code, Stage: g.Stage, Message: g.Message, Statuses: map[deadletters.Status]int{}}
			byID[g.ID] = sum
			out = append(out, sum)
		}
		sum.Count += g.Count
		sum.Bytes += g.Bytes
		sum.Replayed += g.Replayed
		sum.Statuses[status] += g.Count
	}
	return out, rows.Err()
}

// ends finds a group's first and last letter. The index on group, status and time gives them at
// once for each status by itself.
func (d *DLQ) ends(ctx context.Context, q Query, g *deadletters.Group) error {
	q.Groups = []string{g.ID}
	for status := range g.Statuses {
		q.Statuses = []deadletters.Status{status}
		if status == "" {
			q.Statuses[0] = unreadable
		}
		where := q.where(d.store.engine, d.number)
		from := "SELECT id, error_message, rejected_at FROM @dead_letter_queue" + where.text() + " ORDER BY rejected_at "
		var first, last deadletters.Group
		err := d.store.row(ctx, from+"LIMIT 1", where.args...).Scan(&first.Example, &first.Said, stamp{&first.FirstSeen})
		if err != nil {
			return err
		}
		err = d.store.row(ctx, from+"DESC LIMIT 1", where.args...).Scan(&last.Example, &last.Said, stamp{&last.LastSeen})
		if err != nil {
			return err
		}
		if g.FirstSeen.IsZero() || first.FirstSeen.Before(g.FirstSeen) {
			g.FirstSeen = first.FirstSeen
		}
		if newer := last.LastSeen.Compare(g.LastSeen); newer > 0 || newer == 0 && strings.Compare(last.Example, g.Example) > 0 {
			g.LastSeen, g.Example, g.Said = last.LastSeen, last.Example, last.Said
		}
	}
	return nil
}
