package keyorder

import (
	"time"

	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// Key is the order state of one key, for callers that simulate an engine's order without a broker. The zero Key has no
// waiting record.
type Key struct{ state State }

// Admit reports whether a record may run now. If not, the decision is the tier in which it waits, and next is its
// number in the order of its key from then on. A record without a number has 0.
func (k *Key) Admit(rules Rules, number int64, fromTier bool, tiers []policy.Tier, now time.Time) (d policy.Decision, next int64, run bool) {
	k.state, d, next, run = rules.Admit(k.state, Record{FromTier: fromTier, Number: number}, tiers, now)
	return d, next, run
}

// Ended applies the decision after an attempt, and returns the record's number from then on.
func (k *Key) Ended(rules Rules, number int64, fromTier bool, d policy.Decision) (next int64) {
	k.state, next = rules.After(k.state, Record{FromTier: fromTier, Number: number}, d, playedDeadLetter)
	k.state.DeadLetters = 0 // simulated dead letters are not replayed
	k.state = k.state.tidy()
	return next
}

// Idle reports whether no record of the key waits and no dead letter blocks it.
func (k *Key) Idle() bool { return k.state == State{} }

// playedDeadLetter is used as the ID of simulated dead letters.
const playedDeadLetter = "played"
