package retrytopics

import (
	"maps"

	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// An exploration goes on from one state in several ways, and compares states. The following methods copy and list results
// for it.

// copy returns results of their own with the same answers.
func (r *results) copy() *results {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := &results{limit: r.limit, bytes: r.bytes, made: maps.Clone(r.made)}
	n.some.Store(len(n.made) > 0)
	return n
}

// kept returns a copy of the answers, by position.
func (r *results) kept() map[header.Position]made {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.made)
}
