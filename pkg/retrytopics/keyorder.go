package retrytopics

import (
	"time"

	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// KeyOrder is what the records of one key have been through, for those who play an engine's order without a broker, such as a
// simulation. Its decisions are the engine's. The zero KeyOrder knows of no record that waits.
type KeyOrder struct{ state keyState }

// Admit says whether a record may run now. When it may not, the decision says where it waits, and number is its place in the
// order of its key from then on. A record that has no number has 0.
func (k *KeyOrder) Admit(o Ordering, number int64, fromTier bool, tiers []policy.Tier, now time.Time) (d policy.Decision, index int64, run bool) {
	k.state, d, index, run = o.startOrWait(k.state, arrival{fromTier: fromTier, sequence: number}, tiers, now)
	return d, index, run
}

// Ended notes what was decided after an attempt, and gives the record's number from then on.
func (k *KeyOrder) Ended(o Ordering, number int64, fromTier bool, d policy.Decision) (index int64) {
	k.state, index = o.after(k.state, arrival{fromTier: fromTier, sequence: number}, d, playedDeadLetter)
	k.state.DeadLetters = 0 // nobody replays one
	k.state = k.state.tidy()
	return index
}

// Idle says that no record of the key waits and none holds it.
func (k *KeyOrder) Idle() bool { return k.state == keyState{} }

// playedDeadLetter stands for the id of a dead letter.
const playedDeadLetter = "played"
