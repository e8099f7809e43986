package plan

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// Load is the input of the producers. Each event depends on the seed and its own number alone, so leaving some out does
// not change the others.
type Load struct {
	Records int           `json:"records"`        // numbered from 0
	Left    []Range       `json:"left,omitempty"` // numbers that are left out
	Keys    int           `json:"keys"`
	Gap     time.Duration `json:"gap"`           // average time between two events
	Hard    float64       `json:"hard"`          // share of the events that do not succeed at once
	Pad     int           `json:"pad,omitempty"` // bytes that pad each value
}

// Range is the numbers from First to End, without End.
type Range struct {
	First int `json:"first"`
	End   int `json:"end"`
}

// String summarizes the load.
func (l Load) String() string {
	left := 0
	for _, r := range l.Left {
		left += r.End - r.First
	}
	text := fmt.Sprintf("%d events over %d keys, one every %s, %.0f %% hard", l.Records-left, l.Keys, l.Gap, 100*l.Hard)
	if left > 0 {
		text += fmt.Sprintf(" (of %d; left out %v)", l.Records, l.Left)
	}
	return text
}

// Sends reports whether an event is sent.
func (l Load) Sends(number int) bool {
	for _, r := range l.Left {
		if number >= r.First && number < r.End {
			return false
		}
	}
	return number < l.Records
}

// Fate is the result of an event's attempts.
type Fate string

// The fates.
const (
	FateDone      Fate = "done"       // succeeds
	FateTransient Fate = "transient"  // fails transiently Fails times, then succeeds
	FatePermanent Fate = "permanent"  // fails permanently in its first Deaths lives
	FateExhausted Fate = "exhausted"  // fails transiently at every attempt of its first Deaths lives
	FateFiltered  Fate = "filtered"   // is closed by the handler
	FatePanic     Fate = "panic"      // panics in its first Deaths lives
	FateSinkFails Fate = "sink_fails" // the sink carries out the write and its answer is lost, Fails times
)

// Event is one event of the load.
type Event struct {
	Number  int
	Key     string        // "" for an event without a key
	Delete  bool          // a tombstone
	Content int           // two events of a key with the same number have the same content
	Version int64         // of a load with versions
	Parts   int           // outputs
	Fate    Fate          //
	Fails   int           // see Fate
	Deaths  int           // lives that end in the DLQ; a replay begins another life
	Takes   time.Duration // duration of each attempt
	Asks    time.Duration // the wait that a failure requests, like Retry-After
	Pause   time.Duration // time after it was sent
}

// Event returns one event.
func (p Plan) Event(number int) Event {
	r := rand.New(rand.NewPCG(p.Seed, 0x10ad<<32|uint64(number)))
	l := p.Load
	e := Event{Number: number, Parts: 1, Fate: FateDone}
	if key := r.IntN(l.Keys); !chance(r, .01) {
		e.Key = fmt.Sprint("k", key)
	}
	e.Content = r.IntN(1000)
	if chance(r, .2) { // so that A, B, A occurs
		e.Content = r.IntN(2)
	}
	e.Delete = chance(r, .05)
	e.Version = int64(10*number + r.IntN(80))
	if chance(r, .1) {
		e.Version = int64(r.IntN(10 * max(l.Records, 1)))
	}
	if chance(r, .05) {
		e.Parts = 2 + r.IntN(2)
	}
	if chance(r, .1) {
		e.Takes = time.Duration(r.IntN(700)) * time.Millisecond
	}
	if chance(r, .01) {
		e.Takes = time.Duration(r.IntN(12)) * time.Second
	}
	if r.Float64() < l.Hard {
		p.harden(&e, r)
	}
	e.Pause = time.Duration(r.ExpFloat64() * float64(l.Gap))
	return e
}

func (p Plan) harden(e *Event, r *rand.Rand) {
	e.Fails, e.Deaths = 1+r.IntN(max(p.Engine.MaxAttempts-1, 1)), 1
	if chance(r, .2) {
		e.Deaths = 2
	}
	if chance(r, .1) {
		e.Asks = time.Duration(500+r.IntN(15000)) * time.Millisecond
	}
	switch n := r.IntN(100); {
	case n < 70:
		e.Fate = FateTransient
	case n < 80:
		e.Fate = FatePermanent
	case n < 87:
		e.Fate = FateExhausted
	case n < 92:
		e.Fate = FateSinkFails
	case n < 97:
		e.Fate = FateFiltered
	default:
		e.Fate = FatePanic
	}
}

func chance(r *rand.Rand, share float64) bool { return r.Float64() < share }
