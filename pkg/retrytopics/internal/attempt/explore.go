package attempt

import (
	"maps"

	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// The explorer of package session continues one state in several ways and compares states. The following methods copy and
// list results for it.

// Copy returns results of their own with the same answers.
func (r *Results) Copy() *Results {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := &Results{limit: r.limit, bytes: r.bytes, made: maps.Clone(r.made)}
	n.some.Store(len(n.made) > 0)
	return n
}

// Kept returns a copy of the answers, by position.
func (r *Results) Kept() map[header.Position]Answer {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.made)
}
