package memory

import (
	"time"

	"github.com/switchback-geo/switchback/internal/keyorder"
	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/statetopic"
)

// Change is what one attempt changes in its partition's memory. Only its Hash is set before the attempt.
type Change struct {
	Hash idempotency.KeyHash // of the key, with a ledger or versions

	order   *ordered // nil if it did not change
	lasting bool     // committed

	ledged  bool // applied must be written
	applied idempotency.Applied
	before  idempotency.Applied // what the ledger had before applied
	known   bool                // before is set

	versioned bool              // latest must be written
	latest    statetopic.Latest // newest version of the key
	older     statetopic.Latest // what was remembered before it
	kept      bool              // older is set
}

// ordered is a key's order that must be written.
type ordered struct {
	key   string
	state keyorder.State
}

// Empty reports whether nothing must be written.
func (c *Change) Empty() bool { return c.order == nil && !c.ledged && !c.versioned }

// undo removes a change from a memory, unless it is committed.
func (c *Change) undo(p *Partition) {
	switch {
	case c.lasting || !c.ledged:
	case c.known:
		p.ledger.Note(c.Hash, c.before)
	default:
		p.ledger.Forget(c.Hash)
	}
	switch {
	case c.lasting || !c.versioned:
	case c.kept:
		p.evicted.add(p.latest.note(c.Hash, c.older))
	default:
		p.latest.table.Forget(c.Hash)
	}
}

// Effect is what an attempt did to its key.
type Effect struct {
	Took    bool // the event took effect, with Version
	Version header.Version
	Deletes bool
	// LateDelete is the source offset of a delete that did not take effect, or -1. What lies before it in the source must
	// not take effect again.
	LateDelete int64
	Content    [8]byte // becomes the last content of the key in the ledger, if Hashed
	Hashed     bool
	At         time.Time
	Order      keyorder.State // of the key from now on, if Ordered
	Ordered    bool
}

// Apply applies an attempt's effect on its key: its order, its last effective event, and its newest known version.
// The ledger and the key's order may forget the version in time. before is the state of the key before the attempt.
func (p *Partition) Apply(c *Change, key []byte, before *Past, effect Effect) {
	if effect.Ordered {
		c.order = &ordered{string(key), effect.Order}
		p.setOrder(c.order)
	}
	if effect.Hashed && p.ledger != nil {
		c.ledged, c.before, c.known = true, before.last, before.known
		c.applied = idempotency.Applied{Content: effect.Content, Version: effect.Version.Number, Offset: effect.Version.Offset, At: effect.At}
	}
	newest, known := statetopic.Latest{Deleted: max(before.Deleted(), effect.LateDelete+1)}, false
	if v := before.LatestVersion(); v != nil {
		newest.Version, known = *v, true
	}
	switch {
	case effect.Took && !known:
		newest, known = statetopic.Latest{Version: effect.Version}.After(effect.Version, effect.Deletes), true
	case effect.Took:
		newest = newest.After(effect.Version, effect.Deletes)
	}
	if p.latest != nil && known && (!before.keeps || newest != before.kept) {
		c.versioned, c.latest, c.older, c.kept = true, newest, before.kept, before.keeps
	}
	if c.ledged || c.versioned {
		p.note(c)
	}
}
