package memory

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/switchback-geo/switchback/internal/keyorder"
	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics/statetopic"
)

// Settings determine what a partition remembers, and where it is written.
type Settings struct {
	StateTopic, LedgerTopic string
	Scale                   statetopic.Scale // of versions

	Window  time.Duration // how long the last effective event of a key is remembered; 0: not at all
	MaxKeys int           // of the ledger

	Versions     bool       // the newest version of each key is remembered
	MaxVersions  int        // keys with a version
	DropVersions bool       // versions in the state topic are removed
	Forgotten    *Forgotten // counts the keys without room for their versions
}

// Partition is what an instance remembers of the keys of one partition number, over the source and the tiers, while
// it owns it. Workers change it when attempts end, one key at a time. A change is visible to the key's next record at
// once, and becomes permanent when the transaction with the attempt is committed. Safe for concurrent use.
type Partition struct {
	number   int32
	settings Settings

	mu      *sync.Mutex               // of the partition and its successors; guards all fields below
	keys    map[string]keyorder.State // as of the last attempt
	base    map[string]keyorder.State // as of the last commit
	ledger  *idempotency.Ledger       // last effective events, as of the last attempt; nil without deduplication. Shared with successors
	latest  *versions                 // newest version of each key, as of the last attempt; nil if versions are not kept. Shared with successors
	evicted evicted                   // keys whose versions had no room
	noted   []*Change                 // uncommitted changes of ledger and latest, in order, with some committed ones among them
	over    bool                      // it has a successor: attempts that still run change nothing
}

// New returns an empty memory.
func New(number int32, settings Settings) *Partition {
	p := &Partition{number: number, settings: settings, mu: &sync.Mutex{}, keys: map[string]keyorder.State{}, base: map[string]keyorder.State{}}
	if settings.Window > 0 {
		p.ledger = idempotency.NewLedger(settings.Window, settings.MaxKeys)
	}
	if settings.Versions {
		p.latest, p.evicted.forgotten = newVersions(settings.MaxVersions), settings.Forgotten
	}
	return p
}

// Open makes the memory ready for attempts, after everything committed has been restored.
func (p *Partition) Open() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keys = maps.Clone(p.base)
	p.evicted.begin()
}

// Successor returns the memory as of the last commit, for the repeated attempts. Earlier attempts that still run change
// only the old one.
func (p *Partition) Successor() *Partition {
	p.mu.Lock()
	defer p.mu.Unlock()
	next := *p
	next.keys = maps.Clone(p.base)
	next.noted = nil
	for _, c := range slices.Backward(p.noted) {
		c.undo(&next)
	}
	p.noted, p.over = nil, true
	return &next
}

// Past returns what is remembered of a key.
func (p *Partition) Past(key []byte, hash idempotency.KeyHash, now time.Time) Past {
	p.mu.Lock()
	defer p.mu.Unlock()
	past := Past{Order: p.keys[string(key)]}
	if p.ledger != nil {
		past.last, past.known = p.ledger.Last(hash, now)
	}
	if p.latest != nil {
		past.kept, past.keeps = p.latest.of(hash)
	}
	return past
}

// setOrder changes the order of a key.
func (p *Partition) setOrder(o *ordered) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if o.state == (keyorder.State{}) {
		delete(p.keys, o.key)
		return
	}
	p.keys[o.key] = o.state
}

// note writes what took effect into ledger and versions, until it is committed or the memory has a successor.
func (p *Partition) note(c *Change) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return
	}
	if c.ledged {
		p.ledger.Note(c.Hash, c.applied)
	}
	if c.versioned {
		p.evicted.add(p.latest.note(c.Hash, c.latest))
	}
	p.noted = append(p.noted, c)
}

// Commit makes changes permanent, in the order in which they were made.
func (p *Partition) Commit(changes []*Change) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range changes {
		c.lasting = true
		switch {
		case c.order == nil:
		case c.order.state == (keyorder.State{}):
			delete(p.base, c.order.key)
		default:
			p.base[c.order.key] = c.order.state
		}
	}
	lasting := 0
	for lasting < len(p.noted) && p.noted[lasting].lasting {
		lasting++
	}
	p.noted = slices.Delete(p.noted, 0, lasting)
}

// Orders returns the committed order of each key with one. The caller must not change the map, and the memory must not
// be in use by attempts.
func (p *Partition) Orders() map[string]keyorder.State { return p.base }

// Size is how much a partition remembers.
type Size struct {
	Orders       int // keys with an order, as of the last commit
	Ledger       int // keys of the ledger
	Versions     int // keys with a version
	VersionBytes int // of the versions, in memory
	Removable    int // keys whose versions are still to be removed from the state topic
}

// Size returns how much the partition remembers.
func (p *Partition) Size() Size {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := Size{Orders: len(p.base), Removable: len(p.evicted.keys)}
	if p.ledger != nil {
		s.Ledger = p.ledger.Len()
	}
	if p.latest != nil {
		s.Versions, s.VersionBytes = p.latest.table.Len(), p.latest.table.Bytes()
	}
	return s
}
