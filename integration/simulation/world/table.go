package world

import (
	"maps"
	"sync"

	"github.com/switchback-geo/switchback/integration/simulation/judge"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// Table is a table beside Kafka. It is guarded as the one of internal/sink is, row by row: what is older than what was
// written last for a key changes nothing, and a delete leaves its mark in the guard. Its methods are safe for concurrent use.
type Table struct {
	mu    sync.Mutex
	guard map[string]guard
	rows  map[string]judge.Row
}

// guard is what the table remembers of a key.
type guard struct {
	version header.Version
	content int   // of what was written last, unless it was a delete
	gone    bool  // it was one
	deleted int64 // source offset of the newest delete; -1 when there is none
}

func newTable() *Table { return &Table{guard: map[string]guard{}, rows: map[string]judge.Row{}} }

// Write writes one row, or deletes it. The condition is that of the statement in internal/sink.
func (t *Table) Write(key string, v header.Version, deletes bool, row judge.Row) {
	t.mu.Lock()
	defer t.mu.Unlock()
	g, known := t.guard[key]
	if !known {
		g.deleted = -1
	}
	if known && !g.takes(v, deletes) {
		return
	}
	if deletes {
		g.deleted = max(g.deleted, v.Offset)
		delete(t.rows, key)
	} else {
		t.rows[key] = row
	}
	g.version, g.content, g.gone = v, row.Content, deletes
	t.guard[key] = g
}

// Repeated says whether the row of a duplicate has to be written all the same, as Sink.Repeated does. If not, the row is the
// duplicate's from now on.
func (t *Table) Repeated(key string, v header.Version, row judge.Row) (stale bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	g, known := t.guard[key]
	switch {
	case !known:
		return true
	case !g.version.Less(v) || v.Offset <= g.deleted:
		return false
	case g.gone || g.content != row.Content:
		return true
	}
	t.rows[key] = row
	g.version = v
	t.guard[key] = g
	return false
}

func (g guard) takes(v header.Version, deletes bool) bool {
	return v.Offset > g.deleted && (!v.Less(g.version) || deletes && g.version.Offset <= v.Offset)
}

// Rows is the whole table.
func (t *Table) Rows() map[string]judge.Row {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.rows)
}
