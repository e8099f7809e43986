package simulate

import (
	"github.com/switchback-geo/switchback/internal/keyorder"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// keyed is the state of one key.
type keyed struct {
	busy   bool
	chain  []*item // waiting for the running one
	order  keyorder.Key
	newest int // number of the newest effective record plus one; 0: none
}

// chained reports whether a record must wait for another one of its key. Only one record of a key runs at a time.
func (x *simulation) chained(it *item) bool {
	if it.key == none {
		return false
	}
	k := x.keys[it.key]
	if k == nil {
		k = &keyed{}
		x.keys[it.key] = k
	}
	if k.busy {
		k.chain = append(k.chain, it)
		x.count(it, 1)
		return true
	}
	k.busy = true
	return false
}

// admit asks the engine's order whether a record may run, and parks it behind its predecessor if not.
func (x *simulation) admit(it *item) bool {
	if it.key == none || x.w.sys.Ordering.Mode != keyorder.Strict {
		return true
	}
	d, place, run := x.keys[it.key].order.Admit(x.w.sys.Ordering, it.place, it.tier != source, x.w.sys.Tiers, x.time())
	it.place = place
	if run {
		return true
	}
	it.due = d.Due
	x.rec.out.Behind++
	x.release(it, d)
	x.park(it, d.Tier)
	x.free(it, none)
	return false
}

// release applies the end of an attempt to the order of its key, and lets the next record of the key run.
func (x *simulation) release(it *item, d policy.Decision) {
	if it.key == none {
		return
	}
	k := x.keys[it.key]
	if x.w.sys.Ordering.Mode == keyorder.Strict {
		it.place = k.order.Ended(x.w.sys.Ordering, it.place, it.tier != source, d)
	}
	if d.Outcome == policy.OutcomeDelivered {
		k.newest = max(k.newest, it.number+1)
	}
	k.busy = false
	if len(k.chain) == 0 {
		return
	}
	next := k.chain[0]
	k.chain = k.chain[1:]
	k.busy = true
	x.count(next, -1)
	x.ready(next)
}

// superseded reports whether a newer record of the key has taken effect, so that this one must not.
func (x *simulation) superseded(it *item) bool {
	return it.key != none && x.w.sys.Ordering.Mode == keyorder.LatestWins && x.keys[it.key].newest > it.number
}
