package world

import (
	"maps"
	"sync"

	"github.com/switchback-geo/switchback/integration/simulation/judge"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// Table is a table outside Kafka. It is guarded like the one of internal/sink: an event that is older than the last
// written one of its key changes nothing, and a delete leaves a mark in the guard. Its methods are safe for
// concurrent use.
type Table struct {
	mu    sync.Mutex
	guard map[string]guard
	rows  map[string]judge.Row
}

// guard is the table's memory of a key.
type guard struct {
	version header.Version
	content int   // of the last write, unless it was a delete
	gone    bool  // the last write was a delete
	deleted int64 // source offset of the newest delete; -1 if there is none
}

func newTable() *Table { return &Table{guard: map[string]guard{}, rows: map[string]judge.Row{}} }

// Write writes or deletes one row. Its condition is that of the statement in internal/sink.
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

// Repeated reports whether the row of a duplicate must be written nevertheless, like Sink.Repeated. If not, the row
// belongs to the duplicate from now on.
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

// Rows returns the complete table.
func (t *Table) Rows() map[string]judge.Row {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.rows)
}
