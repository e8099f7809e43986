package retrytopics

import (
	"cmp"
	"fmt"
)

// Order is the order of the events of one key that is kept.
type Order string

const (
	// OrderNone keeps no order once a record waits: later records of its key overtake it.
	OrderNone Order = "none"
	// OrderLatestWins lets records of a key overtake each other, but an older event never takes effect after a newer
	// one: it is closed as superseded.
	OrderLatestWins Order = "latest_wins"
	// OrderStrict lets the events of a key take effect in source order, even if an early one waits.
	OrderStrict Order = "strict"
)

// Orders lists every order.
func Orders() []Order { return []Order{OrderNone, OrderLatestWins, OrderStrict} }

// OnDeadLetter is what OrderStrict does with a key after one of its records became a dead letter.
type OnDeadLetter string

const (
	// OnDeadLetterContinue continues with the next record of the key.
	OnDeadLetterContinue OnDeadLetter = "continue"
	// OnDeadLetterHoldKey lets the key wait until the dead letter has been replayed and is finished.
	OnDeadLetterHoldKey OnDeadLetter = "hold_key"
)

// OnDeadLetters lists every choice.
func OnDeadLetters() []OnDeadLetter { return []OnDeadLetter{OnDeadLetterContinue, OnDeadLetterHoldKey} }

// Ordering sets the order that an engine keeps, and the topic in which it stores the state for it.
type Ordering struct {
	Mode         Order        // Defaults to OrderLatestWins.
	OnDeadLetter OnDeadLetter // of OrderStrict. Defaults to OnDeadLetterContinue.
	// StateTopic is a compacted topic with as many partitions as the source. It also has the checkpoints, from which
	// the engine continues if the group's commits have expired. With OrderNone it may be missing; then nothing
	// replaces expired commits. Defaults to <Source>.state.
	StateTopic string
	// Versioned means that the handler sets Result.Version for every record that is not a tombstone; a record without
	// one is then not compared. Otherwise the source offset is the version.
	Versioned bool
	Versions  Versions // if Versioned is set
}

func (o Ordering) withDefaults(source string) Ordering {
	o.Mode = cmp.Or(o.Mode, OrderLatestWins)
	o.OnDeadLetter = cmp.Or(o.OnDeadLetter, OnDeadLetterContinue)
	o.StateTopic = cmp.Or(o.StateTopic, source+".state")
	o.Versions = o.Versions.withDefaults()
	return o
}

// RemembersVersions reports whether the engine remembers the newest version of every key.
func (o Ordering) RemembersVersions() bool {
	return o.Versioned && o.Mode != OrderNone && o.Versions.Keep == KeepAlways
}

func (o Ordering) faults() []error {
	var faults []error
	if o.Mode != OrderNone && o.Mode != OrderLatestWins && o.Mode != OrderStrict {
		faults = append(faults, fmt.Errorf("Ordering.Mode %q is none of %v", o.Mode, Orders()))
	}
	if o.OnDeadLetter != OnDeadLetterContinue && o.OnDeadLetter != OnDeadLetterHoldKey {
		faults = append(faults, fmt.Errorf("Ordering.OnDeadLetter %q is none of %v", o.OnDeadLetter, OnDeadLetters()))
	}
	return append(faults, o.Versions.faults()...)
}
