package retrytopics

import (
	"fmt"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

var midday = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

// holding is the state of a key whose order is strict and whose dead letters hold it.
type holding struct {
	t  *testing.T
	o  Ordering
	st keyState
}

var twoTiers = []policy.Tier{{Topic: "t.retry-1s", Delay: time.Second}, {Topic: "t.retry-2s", Delay: 2 * time.Second}}

// ends lets a record that may run end so; dead are its parts that died. It gives the record's number.
func (h *holding) ends(what string, a arrival, outcome policy.Outcome, deadLetter string, dead ...int) int64 {
	h.t.Helper()
	next, _, sequence, run := h.o.startOrWait(h.st, a, twoTiers, midday)
	if !run {
		h.t.Fatalf("%s waits: %+v", what, h.st)
	}
	a.sequence = sequence
	st, sequence := h.o.after(next, a, policy.Decision{Outcome: outcome, Due: midday}, deadLetter, dead...)
	h.st = h.o.lost(st, len(dead))
	encoded, err := encodeState("s", 0, "k", h.st, ScaleOffset) // what is remembered of it is all of it
	if err != nil {
		h.t.Fatal(err)
	}
	if encoded.Value != nil {
		if back, err := decodeState(encoded.Value, ScaleOffset); err != nil || back != h.st {
			h.t.Fatalf("%s: %s is read as %+v, %v, want %+v", what, encoded.Value, back, err, h.st)
		}
	}
	return sequence
}

// waits says whether a further record of the key has to wait.
func (h *holding) waits(what string, so bool) {
	h.t.Helper()
	if _, _, _, run := h.o.startOrWait(h.st, arrival{}, twoTiers, midday); run == so {
		h.t.Fatalf("%s: a further record runs is %v: %+v", what, run, h.st)
	}
}

func replayed(part int) arrival {
	return arrival{deadLetterID: fmt.Sprint("L-", part), part: header.Part{Index: part, Of: 9}}
}

// Whatever order they come back in, a key is held until the last dead letter of a record is finished, and not longer.
func TestHeldParts_S3_1(t *testing.T) {
	t.Parallel()
	type step struct {
		what    string
		a       arrival
		outcome policy.Outcome
		letter  string
		dead    []int
	}
	whole := arrival{deadLetterID: "L"}
	remaining := arrival{deadLetterID: "L", fromTier: true, own: "L"}
	again := func(part int) arrival { a := replayed(part); a.fromTier = true; return a }
	for name, steps := range map[string][]step{
		"of one attempt": {
			{"record", arrival{own: "L"}, policy.OutcomeDelivered, "", []int{1, 4}},
			{"part 4", replayed(4), policy.OutcomeDelivered, "", nil}, {"part 1", replayed(1), policy.OutcomeSuperseded, "", nil},
		},
		"one dies again, one is retried": {
			{"record", arrival{own: "L"}, policy.OutcomeSkipped, "", []int{1, 4}},
			{"part 4", replayed(4), policy.OutcomeDeadLettered, "L-4", nil}, {"part 1", replayed(1), policy.OutcomeRetried, "", nil}, {"part 4", replayed(4), policy.OutcomeDelivered, "", nil},
			{"part 1 again", again(1), policy.OutcomeDelivered, "", nil},
		},
		"the whole letter comes back in parts": {
			{"record", arrival{}, policy.OutcomeDeadLettered, "L", nil},
			{"letter", whole, policy.OutcomeRetried, "", []int{1, 2}}, {"part 1", replayed(1), policy.OutcomeDelivered, "", nil},
			{"rest", remaining, policy.OutcomeDelivered, "", []int{3}}, {"part 2", replayed(2), policy.OutcomeDelivered, "", nil}, {"part 3", replayed(3), policy.OutcomeDelivered, "", nil},
		},
		"its parts end before its rest": {
			{"record", arrival{}, policy.OutcomeDeadLettered, "L", nil},
			{"letter", whole, policy.OutcomeRetried, "", []int{1}}, {"part 1", replayed(1), policy.OutcomeDelivered, "", nil}, {"rest", remaining, policy.OutcomeDelivered, "", nil},
		},
		"its rest dies": {
			{"record", arrival{}, policy.OutcomeDeadLettered, "L", nil},
			{"letter", whole, policy.OutcomeRetried, "", []int{1}}, {"rest", remaining, policy.OutcomeDeadLettered, "L", nil},
			{"letter", arrival{deadLetterID: "L", own: "L"}, policy.OutcomeDelivered, "", nil}, {"part 1", replayed(1), policy.OutcomeDelivered, "", nil},
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := &holding{t: t, o: Ordering{Mode: OrderStrict, OnDeadLetter: OnDeadLetterHoldKey}}
			for i, s := range steps {
				if i > 0 {
					h.waits("before "+s.what, true)
				}
				h.ends(s.what, s.a, s.outcome, s.letter, s.dead...)
			}
			h.waits("at the end", false)
			expect.That(t, h.st.Held == "" && h.st.HeldParts == "" && !h.st.HeldRemaining, "it is still held: %+v", h.st)
		})
	}
}

// The rest of a record runs on though parts of it hold its key, and those behind it wait for both.
func TestHeldParts_S3_1_theRestOfARecordIsNotHeldByItsParts(t *testing.T) {
	t.Parallel()
	h := &holding{t: t, o: Ordering{Mode: OrderStrict, OnDeadLetter: OnDeadLetterHoldKey}}
	n := h.ends("record", arrival{own: "L"}, policy.OutcomeRetried, "", 1)
	remaining := arrival{fromTier: true, sequence: n, own: "L"}
	h.waits("while the rest waits", true)
	n = h.ends("rest", remaining, policy.OutcomeRetried, "", 2)
	h.ends("part 1", replayed(1), policy.OutcomeDelivered, "")
	h.ends("rest", arrival{fromTier: true, sequence: n, own: "L"}, policy.OutcomeDeadLettered, "L")
	h.ends("part 2", replayed(2), policy.OutcomeDelivered, "")
	h.waits("while the rest is dead", true)
	h.ends("letter", arrival{deadLetterID: "L", own: "L"}, policy.OutcomeDelivered, "")
	h.waits("at the end", false)
}

// With continue, dead parts hold nothing.
func TestHeldParts_S3_1_continueHoldsNothing(t *testing.T) {
	t.Parallel()
	h := &holding{t: t, o: Ordering{Mode: OrderStrict, OnDeadLetter: OnDeadLetterContinue}}
	h.ends("record", arrival{own: "L"}, policy.OutcomeDelivered, "", 1, 2)
	h.waits("behind it", false)
}

// Only the state of a key that parts hold has the second form, so that an older version reads all others.
func TestHeldParts_theFormOfTheState(t *testing.T) {
	t.Parallel()
	for want, st := range map[string]keyState{
		`{"format":1,"next":1,"held":"L"}`:                    {Next: 1, Held: "L"},
		`{"format":2,"next":1,"held":"L","held_parts":"1-3"}`: {Next: 1, Held: "L", HeldParts: "1-3"},
	} {
		if r, err := encodeState("s", 0, "k", st, ScaleOffset); err != nil || string(r.Value) != want {
			t.Errorf("%s, %v; want %s", r.Value, err, want)
		}
	}
	for _, text := range []string{`{"format":3}`, `{"format":2,"held":"L","held_parts":"3-1"}`, `{"format":2,"held":"L","held_parts":"x"}`} {
		if st, err := decodeState([]byte(text), ScaleOffset); err == nil {
			t.Errorf("%s was read as %+v", text, st)
		}
	}
}
