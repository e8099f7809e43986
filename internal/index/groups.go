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
	if err := d.ends(ctx, q, groups); err != nil {
		return nil, wrapped("group the letters of "+d.topic, err)
	}
	out := make([]deadletters.Group, len(groups))
	for i, g := range groups {
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
		replayedSum+" AS replayed "+
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

// ends finds the first and the last letter of groups, each status by itself, since the index on
// group, status and time gives them at once then.
func (d *DLQ) ends(ctx context.Context, q Query, groups []*deadletters.Group) error {
	q.Groups, q.Statuses = nil, nil
	byID := make(map[string]*deadletters.Group, len(groups))
	var parts [][]any
	for _, g := range groups {
		byID[g.ID] = g
		for status := range g.Statuses {
			parts = append(parts, []any{g.ID, cmp.Or(string(status), string(unreadable))})
		}
	}
	where := q.where(d.store.engine, d.number)
	own := where.text() + " AND group_id = c.grp AND status = c.stat ORDER BY rejected_at "
	return chunked(parts, func(some [][]any) error {
		text := "WITH c (grp, stat) AS (VALUES " + placeholders(len(some), 2) + ") " +
			"SELECT e.grp, e.earliest, l.rejected_at, l.id, l.error_message FROM (SELECT c.grp, " +
			"(SELECT rejected_at FROM @dead_letter_queue" + own + "LIMIT 1) AS earliest, " +
			"(SELECT id FROM @dead_letter_queue" + own + "DESC LIMIT 1) AS latest FROM c) AS e " +
			"JOIN @dead_letter_queue AS l ON l.id = e.latest AND l.dlq = ?"
		args := slices.Concat(slices.Concat(some...), where.args, where.args, []any{d.number})
		rows, err := d.store.query(ctx, text, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			if err := bound(byID, rows); err != nil {
				return err
			}
		}
		return rows.Err()
	})
}

// bound takes over the first and the last letter of one status of a group.
func bound(groups map[string]*deadletters.Group, rows *sql.Rows) error {
	var group, id, said string
	var from, to time.Time
	if err := rows.Scan(&group, stamp{&from}, stamp{&to}, &id, &said); err != nil {
		return err
	}
	g := groups[group]
	if g.FirstSeen.IsZero() || from.Before(g.FirstSeen) {
		g.FirstSeen = from
	}
	if newer := to.Compare(g.LastSeen); newer > 0 || newer == 0 && id > g.Example {
		g.LastSeen, g.Example, g.Said = to, id, said
	}
	return nil
}
