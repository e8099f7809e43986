package retrytopics

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/switchback-geo/switchback/internal/keyorder"
	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics/statetopic"
)

// partitionState is what an instance knows of the keys of one partition number, over the source and the tiers, while it
// owns it. Workers change it when attempts end, one key at a time. A change is visible to the key's next record at once,
// and becomes permanent when the transaction with the attempt is committed.
type partitionState struct {
	partition int32
	restored  bool   // guarded by the session's mutex
	head      []byte // of its hash chain, as of the last commit; owned by the committing goroutine

	checkpoint *statetopic.Checkpoint // as of the last commit, nil if there is none; owned by the committing goroutine
	generation int                    // of the source topic; constant once the state is open
	same       int                    // number of latest generations that began without another source topic
	pipelines  []string               // former pipeline IDs; constant once the state is open
	promised   bool                   // commits of the partition include a checkpoint; guarded by the session's mutex

	mu     *sync.Mutex               // of the state and its successors
	keys   map[string]keyorder.State // as of the last attempt
	base   map[string]keyorder.State // as of the last commit
	ledger *idempotency.Ledger       // last effective events, as of the last attempt; nil without deduplication. Shared with successors
	latest *latestVersions           // newest version of each key, as of the last attempt; nil if versions are not kept. Shared with successors
	pushed pushedOut                 // keys whose versions had no room
	drops  bool                      // versions in the state topic are removed
	noted  []*change                 // uncommitted changes of ledger and latest, in order, with some committed ones among them
	over   bool                      // it has a successor: attempts that still run change nothing
}

func newPartitionState(partition int32, d Dedupe) *partitionState {
	sh := &partitionState{
		partition: partition, mu: &sync.Mutex{}, keys: map[string]keyorder.State{}, base: map[string]keyorder.State{},
	}
	if d.on() {
		sh.ledger = idempotency.NewLedger(d.Window, d.MaxKeys)
	}
	return sh
}

// newState returns the empty state of a partition.
func (e *Engine) newState(partition int32) *partitionState {
	sh := newPartitionState(partition, e.cfg.Dedupe)
	if e.cfg.versions() {
		sh.latest, sh.pushed.forgotten = newLatestVersions(e.cfg.Ordering.Versions.MaxKeys), &e.forgotten
	}
	sh.drops = e.cfg.Ordering.Versions.Keep == KeepWindow
	return sh
}

// open makes the state ready for attempts, after everything committed has been read.
func (sh *partitionState) open() {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	sh.keys = maps.Clone(sh.base)
	sh.pushed.begin()
	sh.restored = true
}

// successor returns the state as of the last commit, for the repeated attempts. Earlier attempts that still run change
// only the old state.
func (sh *partitionState) successor() *partitionState {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	next := *sh
	next.keys = maps.Clone(sh.base)
	next.noted = nil
	for _, c := range slices.Backward(sh.noted) {
		c.unnote(&next)
	}
	sh.noted, sh.over = nil, true
	return &next
}

// change is what one attempt changed in its partition's state.
type change struct {
	state   *stated             // nil if it did not change
	ledged  bool                // applied must be written
	lasting bool                // committed
	hash    idempotency.KeyHash // of the key, if there is a ledger
	applied idempotency.Applied

	before idempotency.Applied // what the ledger had before applied
	known  bool                // before is known

	versioned bool              // latest must be written
	latest    statetopic.Latest // newest version of the key
	older     statetopic.Latest // what was remembered before it
	kept      bool              // older is known
}

// unnote removes a change from the state, unless it is committed.
func (c *change) unnote(sh *partitionState) {
	switch {
	case c.lasting || !c.ledged:
	case c.known:
		sh.ledger.Note(c.hash, c.before)
	default:
		sh.ledger.Forget(c.hash)
	}
	switch {
	case c.lasting || !c.versioned:
	case c.kept:
		sh.pushed.add(sh.latest.note(c.hash, c.older))
	default:
		sh.latest.table.Forget(c.hash)
	}
}

// stated is a key's state that must be written.
type stated struct {
	key   string
	state keyorder.State
}

func (sh *partitionState) set(k []byte, st keyorder.State) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if st == (keyorder.State{}) {
		delete(sh.keys, string(k))
		return
	}
	sh.keys[string(k)] = st
}

// past returns what is remembered of a key.
func (sh *partitionState) past(k []byte, hash idempotency.KeyHash, now time.Time) past {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	p := past{state: sh.keys[string(k)]}
	if sh.ledger != nil {
		p.last, p.known = sh.ledger.Last(hash, now)
	}
	if sh.latest != nil {
		p.kept, p.keeps = sh.latest.of(hash)
	}
	return p
}

// note writes what took effect into ledger and versions, until it is committed or the state has a successor.
func (sh *partitionState) note(c *change) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.over {
		return
	}
	if c.ledged {
		sh.ledger.Note(c.hash, c.applied)
	}
	if c.versioned {
		sh.pushed.add(sh.latest.note(c.hash, c.latest))
	}
	sh.noted = append(sh.noted, c)
}

// commit makes changes permanent, in the order in which they were made.
func (sh *partitionState) commit(changes []*change) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	for _, c := range changes {
		c.lasting = true
		switch {
		case c.state == nil:
		case c.state.state == (keyorder.State{}):
			delete(sh.base, c.state.key)
		default:
			sh.base[c.state.key] = c.state.state
		}
	}
	lasting := 0
	for lasting < len(sh.noted) && sh.noted[lasting].lasting {
		lasting++
	}
	sh.noted = slices.Delete(sh.noted, 0, lasting)
}
