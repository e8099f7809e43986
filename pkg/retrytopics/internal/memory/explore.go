package memory

import (
	"maps"
	"sync"
	"time"

	"github.com/switchback-geo/switchback/internal/keyorder"
	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics/statetopic"
)

// An explorer of interleavings copies a memory, so that each copy continues on its own, and describes the differences
// between two of them.

// Copy returns a memory that shares nothing with p, without uncommitted changes: see CopyChanges. keys are all keys that p
// knows.
func (p *Partition) Copy(keys []idempotency.KeyHash, now time.Time) *Partition {
	next := &Partition{number: p.number, settings: p.settings, mu: &sync.Mutex{}, keys: maps.Clone(p.keys), base: maps.Clone(p.base), over: p.over}
	if p.latest != nil {
		next.latest, next.evicted.forgotten = newVersions(p.settings.MaxVersions), p.evicted.forgotten
		for _, k := range keys {
			if known, kept := p.latest.of(k); kept {
				next.latest.note(k, known)
			}
		}
	}
	if p.ledger != nil {
		next.ledger = idempotency.NewLedger(p.settings.Window, p.settings.MaxKeys)
		for _, k := range keys {
			if a, known := p.ledger.Last(k, now); known {
				next.ledger.Note(k, a)
			}
		}
	}
	return next
}

// CopyChanges gives a copy the uncommitted changes of p, each replaced by what copied returns.
func (p *Partition) CopyChanges(next *Partition, copied func(*Change) *Change) {
	for _, c := range p.noted {
		next.noted = append(next.noted, copied(c))
	}
}

// Uncommitted returns the changes of ledger and versions that are not committed, with some committed ones among them.
func (p *Partition) Uncommitted() []*Change { return p.noted }

// Described identifies a change: equal changes have equal descriptions.
type Described struct {
	Order                  *keyorder.State
	Ledged, Known, Lasting bool
	Applied, Before        idempotency.Applied
	Versioned, Kept        bool
	Latest, Older          statetopic.Latest
}

// Describe returns what identifies a change.
func (c *Change) Describe() Described {
	d := Described{
		Ledged: c.ledged, Known: c.known, Lasting: c.lasting, Applied: c.applied, Before: c.before,
		Versioned: c.versioned, Kept: c.kept, Latest: c.latest, Older: c.older,
	}
	if c.order != nil {
		d.Order = &c.order.state
	}
	return d
}

// Known returns what the memory has of a key, except for its order.
func (p *Partition) Known(k idempotency.KeyHash, now time.Time) (last idempotency.Applied, known bool, latest statetopic.Latest, kept bool) {
	past := p.Past(nil, k, now)
	return past.last, past.known, past.kept, past.keeps
}
