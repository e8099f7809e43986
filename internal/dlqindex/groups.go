package dlqindex

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/switchback-geo/switchback/internal/deadletters"
)

// Groups returns the groups of the selected letters, the largest first, then by id. A limit bounds the groups, not the
// letters that are counted.
func (d *DLQ) Groups(ctx context.Context, q Query) ([]deadletters.Group, error) {
	stop := q.watch()
	defer stop()
	return inSnapshot(ctx, d, "group", func(t *tx) ([]deadletters.Group, error) {
		sums, err := d.sums(t, q)
		if err == nil {
			err = d.putBackIn(t, q, sums)
		}
		if err != nil {
			return nil, err
		}
		return d.groups(t, q, sums)
	})
}

// sums counts letters by group: from the counters, or if there is a filter, from the rows.
func (d *DLQ) sums(t *tx, q Query) (map[string]*deadletters.Group, error) {
	const extreme = "(SELECT %s(q.rejected_at) FROM @dead_letter_queue AS q WHERE q.dlq = c.dlq AND q.gone = c.gone AND q.group_id = c.group_id)"
	text := "SELECT c.group_id, c.status, c.letters, c.bytes, c.replayed, " + fmt.Sprintf(extreme, "min") + ", " + fmt.Sprintf(extreme, "max") +
		" FROM @dead_letter_count AS c WHERE c.dlq = ? AND c.gone = ? AND c.letters > 0"
	args := []any{d.number, flag(q.Gone)}
	if !q.unfiltered() {
		c := d.condition(q)
		text, args = "SELECT q.group_id, q.status, count(*), CAST(sum(q.value_size) AS BIGINT), sum("+isReplayedSQL+"), min(q.rejected_at), max(q.rejected_at) "+
			"FROM "+t.readAll(q)+c.where()+" GROUP BY q.status, q.group_id", c.args // in this order SQLite scans the index that has all columns
	}
	out := map[string]*deadletters.Group{}
	err := t.found(text, func(rows *sql.Rows) error {
		var id string
		var status deadletters.Status
		var n sums
		var first, last time.Time
		if err := rows.Scan(&id, &status, &n.letters, &n.bytes, &n.replayed, stamp{&first}, stamp{&last}); err != nil {
			return err
		}
		g := out[id]
		if g == nil {
			g = &deadletters.Group{ID: id, FirstSeen: first, Statuses: map[deadletters.Status]int{}}
			out[id] = g
		}
		addTo(g, readable(status), n, first, last)
		return nil
	}, args...)
	return out, err
}

// sentAway selects the letters of a query that a replay sent to a topic where nobody reports their outcome. They have an index of their
// own, which SQLite does not choose by itself.
func (d *DLQ) sentAway(q Query) (from string, args []any) {
	c, by := d.condition(q), ""
	if c.engine == SQLite {
		by = " INDEXED BY idx_dlq_sent"
	}
	return " FROM @dead_letter_queue AS q" + by + c.where() + " AND q.gone = 0 AND q.status = 'discarded' AND q.state_to IS NOT NULL", c.args
}

// putBackIn counts in each group the letters that were sent away.
func (d *DLQ) putBackIn(t *tx, q Query, sums map[string]*deadletters.Group) error {
	from, args := d.sentAway(q)
	return t.found("SELECT q.group_id, count(*)"+from+" GROUP BY q.group_id", func(rows *sql.Rows) error {
		var id string
		var letters int
		err := rows.Scan(&id, &letters)
		if g := sums[id]; g != nil {
			g.PutBack = letters
		}
		return err
	}, args...)
}

// addTo counts letters of one status in their group.
func addTo(g *deadletters.Group, status deadletters.Status, n sums, first, last time.Time) {
	g.Count += int(n.letters)
	g.Bytes += n.bytes
	g.Replayed += int(n.replayed)
	g.Statuses[status] += int(n.letters)
	if first.Before(g.FirstSeen) {
		g.FirstSeen = first
	}
	if last.After(g.LastSeen) {
		g.LastSeen = last
	}
}

// groups sorts groups, and adds their code, stage, message and example.
func (d *DLQ) groups(t *tx, q Query, sums map[string]*deadletters.Group) ([]deadletters.Group, error) {
	ids := slices.Collect(maps.Keys(sums))
	slices.SortFunc(ids, func(a, b string) int {
		return cmp.Or(cmp.Compare(sums[b].Count, sums[a].Count), cmp.Compare(a, b))
	})
	if q.Limit > 0 && len(ids) > q.Limit {
		ids = ids[:q.Limit]
	}
	if err := d.describe(t, q, sums, ids); err != nil {
		return nil, err
	}
	var out []deadletters.Group
	for _, id := range ids {
		out = append(out, *sums[id])
	}
	return out, nil
}

// describe adds code, stage and message to groups, and the letter of each that died last.
func (d *DLQ) describe(t *tx, q Query, sums map[string]*deadletters.Group, ids []string) error {
	c := d.condition(q)
	at := "v.died"
	if t.engine == PostgreSQL {
		at = "CAST(v.died AS TIMESTAMPTZ)"
	}
	return chunked(ids, func(some []string) error {
		var args []any
		for _, id := range some {
			args = append(args, id, timeText(sums[id].LastSeen))
		}
		args = append(append(args, c.args...), d.number)
		text := "WITH v (group_id, died) AS (VALUES " + placeholders(len(some), 2) + ") SELECT g.group_id, g.code, g.stage, g.message, x.id, x.error_message, x.caused_by FROM v " +
			"JOIN @dead_letter_queue AS x ON x.id = (SELECT q.id FROM @dead_letter_queue AS q" + c.where() +
			" AND q.group_id = v.group_id AND q.rejected_at = " + at + " ORDER BY q.dlq_partition DESC, q.dlq_offset DESC LIMIT 1) " +
			"JOIN @dead_letter_group AS g ON g.dlq = x.dlq AND g.group_id = v.group_id WHERE x.dlq = ?"
		return t.found(text, func(rows *sql.Rows) error {
			var g deadletters.Group
			err := rows.Scan(&g.ID, &g.Code, &g.Stage, &g.Message, &g.Example, &g.Said, &g.CausedBy)
			if to := sums[g.ID]; to != nil {
				to.Code, to.Stage, to.Message, to.Example, to.Said = g.Code, g.Stage, g.Message, g.Example, g.Said
				to.CausedBy = deadletters.HiddenCause(g.Said, g.CausedBy)
			}
			return err
		}, args...)
	})
}

// readable returns a status as letters have it: "" of a state that cannot be read.
func readable(s deadletters.Status) deadletters.Status {
	if s == unreadable {
		return ""
	}
	return s
}

// DayCount is how many letters of one day, code and pipeline are pending.
type DayCount struct {
	Day      string `json:"day"` // 2006-01-02, UTC
	Code     string `json:"code"`
	Pipeline string `json:"pipeline"`
	Letters  int    `json:"dead_letters"`
}

// Stats counts the letters of a DLQ.
type Stats struct {
	Letters  int                        // that the topic has
	Statuses map[deadletters.Status]int // of those; the unreadable are under ""
	PutBack  int                        // of those discarded: a replay sent them to a topic where nobody reports their outcome
	Pending  []DayCount                 // the newest day first, then the most
	Lost     int                        // pending letters that retention deleted before anybody looked at them
	Oldest   *deadletters.Letter        // the pending letter whose first death was the earliest; nil if none is pending
	Earliest time.Time                  // time of the oldest record of a pending letter in the DLQ; zero if none is pending
}

// Stats reads the counters of a DLQ.
func (d *DLQ) Stats(ctx context.Context) (Stats, error) {
	return inSnapshot(ctx, d, "count", func(t *tx) (Stats, error) {
		out := Stats{Statuses: map[deadletters.Status]int{}}
		for _, step := range []func(*tx, *Stats) error{d.statuses, d.putBack, d.pending, d.oldest} {
			if err := step(t, &out); err != nil {
				return out, err
			}
		}
		return out, nil
	})
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
