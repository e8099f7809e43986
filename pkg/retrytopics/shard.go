package retrytopics

import (
	"maps"
	"sync"
	"time"

	"github.com/switchback-geo/switchback/pkg/idempotency"
)

// shard is what an instance knows of the keys of one partition while it owns it. Workers change it as attempts end, one
// key at a time; what they change counts for the next record of the key at once, and for good once the transaction that
// carries the attempt is committed.
type shard struct {
	partition int32
	restored  bool   // guarded by the session's mutex
	head      []byte // of its trail, as of the last commit; the committing goroutine's

	// of each taken key, by task.mark: the task that has it, or the last one that waits behind it; the scheduler's mutex
	// guards it
	chains map[uint64]*task

	mu       *sync.Mutex                                 // of the shard and its successors
	keys     map[string]keyState                         // as of the last attempt
	base     map[string]keyState                         // as of the last commit
	unledged map[idempotency.KeyHash]idempotency.Applied // took effect, not committed yet
	ledger   *idempotency.Ledger                         // took effect and committed; nil without dedupe
}

func newShard(partition int32, d Dedupe) *shard {
	sh := &shard{
		partition: partition, chains: map[uint64]*task{}, mu: &sync.Mutex{}, keys: map[string]keyState{},
		base: map[string]keyState{}, unledged: map[idempotency.KeyHash]idempotency.Applied{},
	}
	if d.on() {
		sh.ledger = idempotency.NewLedger(d.Window, d.MaxKeys)
	}
	return sh
}

// rollback goes back to what is committed: the attempts since then are made again.
func (sh *shard) rollback() {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	sh.keys = maps.Clone(sh.base)
	clear(sh.unledged)
}

// successor is the shard as of the last commit, for the attempts that are made again. What still runs of the attempts
// before ends unheard in the old one.
func (sh *shard) successor() *shard {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	next := *sh
	next.chains = map[uint64]*task{}
	next.keys = maps.Clone(sh.base)
	next.unledged = map[idempotency.KeyHash]idempotency.Applied{}
	return &next
}

// change is what one attempt changed in its shard.
type change struct {
	state   *stated // nil when it is the same as before
	hash    idempotency.KeyHash
	applied idempotency.Applied
	ledged  bool // applied is to be written
}

// stated is a key's state to be written.
type stated struct {
	key   string
	state keyState
}

func (sh *shard) state(k []byte) keyState {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	return sh.keys[string(k)]
}

func (sh *shard) set(k []byte, st keyState) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if st == (keyState{}) {
		delete(sh.keys, string(k))
		return
	}
	sh.keys[string(k)] = st
}

// past gives what is remembered of a key.
func (sh *shard) past(k []byte, hash idempotency.KeyHash, now time.Time) past {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	p := past{state: sh.keys[string(k)]}
	if p.last, p.known = sh.unledged[hash]; !p.known && sh.ledger != nil {
		p.last, p.known = sh.ledger.Last(hash, now)
	}
	return p
}

func (sh *shard) note(k idempotency.KeyHash, a idempotency.Applied) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	sh.unledged[k] = a
}

// commit makes changes lasting, in the order in which they were made.
func (sh *shard) commit(changes []*change) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	for _, c := range changes {
		switch {
		case c.state == nil:
		case c.state.state == (keyState{}):
			delete(sh.base, c.state.key)
		default:
			sh.base[c.state.key] = c.state.state
		}
		if !c.ledged {
			continue
		}
		sh.ledger.Note(c.hash, c.applied)
		if sh.unledged[c.hash] == c.applied {
			delete(sh.unledged, c.hash)
		}
	}
}
