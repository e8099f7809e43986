package keyorder

import (
	"time"

	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// Key is what the records of one key have been through, for who plays an engine's order without a broker, such as a
// simulation. The zero Key knows of no record that waits.
type Key struct{ state State }

// Admit says whether a record may run now. When it may not, the decision says where it waits, and next is its number in the
// order of its key from then on. A record that has no number has 0.
func (k *Key) Admit(rules Rules, number int64, fromTier bool, tiers []policy.Tier, now time.Time) (d policy.Decision, next int64, run bool) {
	k.state, d, next, run = rules.Admit(k.state, Record{FromTier: fromTier, Number: number}, tiers, now)
	return d, next, run
}

// Ended notes what was decided after an attempt, and returns the record's number from then on.
func (k *Key) Ended(rules Rules, number int64, fromTier bool, d policy.Decision) (next int64) {
	k.state, next = rules.After(k.state, Record{FromTier: fromTier, Number: number}, d, playedDeadLetter)
	k.state.DeadLetters = 0 // nobody replays one
	k.state = k.state.tidy()
	return next
}

// Idle says that no record of the key waits and none holds it.
func (k *Key) Idle() bool { return k.state == State{} }

// playedDeadLetter stands for the id of a dead letter.
const playedDeadLetter = "played"
