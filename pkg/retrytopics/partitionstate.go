package retrytopics

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/switchback-geo/switchback/internal/keyorder"
	"github.com/switchback-geo/switchback/pkg/idempotency"
)

// partitionState is what an instance knows of the keys of one partition number, over the source and the tiers, while it owns it. Workers change it as attempts end, one
// key at a time; what they change counts for the next record of the key at once, and permanently once the transaction that
// carries the attempt is committed.
type partitionState struct {
	partition int32
	restored  bool   // guarded by the session's mutex
	head      []byte // of its hash chain, as of the last commit; the committing goroutine's

	checkpoint *checkpoint // as of the last commit, nil when there is none; the committing goroutine's
	generation int         // of the source topic; it never changes once the state is open
	same       int         // so many of the latest generations began without another source topic
	pipelines  []string    // ids that the pipeline had before; it never changes once the state is open
	promised   bool        // commits of the partition go with a checkpoint; guarded by the session's mutex

	// of each key that a task has, by task.mark: that task, or the last one that waits behind it; the scheduler's mutex
	// guards it
	chains map[uint64]*task

	mu     *sync.Mutex               // of the state and its successors
	keys   map[string]keyorder.State // as of the last attempt
	base   map[string]keyorder.State // as of the last commit
	ledger *idempotency.Ledger       // what took effect, as of the last attempt; nil without dedupe. Successors share it
	latest *latestVersions           // version of each key, as of the last attempt; nil where none is kept. Successors share it
	pushed pushedOut                 // keys whose versions had no room
	drops  bool                      // versions that the state topic has are removed
	noted  []*change                 // in ledger or newest and not committed yet, in their order, some committed ones among them
	over   bool                      // it has a successor: attempts that still run leave no trace
}

func newPartitionState(partition int32, d Dedupe) *partitionState {
	sh := &partitionState{
		partition: partition, chains: map[uint64]*task{}, mu: &sync.Mutex{}, keys: map[string]keyorder.State{},
		base: map[string]keyorder.State{},
	}
	if d.on() {
		sh.ledger = idempotency.NewLedger(d.Window, d.MaxKeys)
	}
	return sh
}

// newState makes the empty state of a partition.
func (e *Engine) newState(partition int32) *partitionState {
	sh := newPartitionState(partition, e.cfg.Dedupe)
	if e.cfg.versions() {
		sh.latest, sh.pushed.forgotten = newLatestVersions(e.cfg.Ordering.Versions.MaxKeys), &e.forgotten
	}
	sh.drops = e.cfg.Ordering.Versions.Keep == KeepWindow
	return sh
}

// open makes the state ready for attempts, once what is committed is read.
func (sh *partitionState) open() {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	sh.keys = maps.Clone(sh.base)
	sh.pushed.begin()
	sh.restored = true
}

// successor is the state as of the last commit, for the attempts that are made again. What still runs of the attempts
// before ends unheard in the old one.
func (sh *partitionState) successor() *partitionState {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	next := *sh
	next.chains = map[uint64]*task{}
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
	state   *stated             // nil when it is the same as before
	ledged  bool                // applied is to be written
	lasting bool                // committed
	hash    idempotency.KeyHash // of the key, where there is a ledger
	applied idempotency.Applied

	before idempotency.Applied // what the ledger had instead of applied
	known  bool                // before is

	versioned bool   // newest is to be written
	latest    Latest // version of the key
	older     Latest // what was remembered instead of it
	kept      bool   // older is
}

// unnote takes a change out of the state again, unless it is committed.
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

// stated is a key's state to be written.
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

// past gives what is remembered of a key.
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

// note writes into ledger and versions what took effect, until it is committed or the state has a successor.
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

// commit makes changes lasting, in the order in which they were made.
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
