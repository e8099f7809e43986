package keyorder

import (
	"fmt"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

var midday = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

// blocking is the state of a key in strict order, whose dead letters block it.
type blocking struct {
	t  *testing.T
	o  Rules
	st State
}

var twoTiers = []policy.Tier{{Topic: "t.retry-1s", Delay: time.Second}, {Topic: "t.retry-2s", Delay: 2 * time.Second}}

// finish ends a record that may run with this outcome; dead are its parts that became dead letters. It returns the
// record's number.
func (h *blocking) finish(what string, r Record, outcome policy.Outcome, deadLetter string, dead ...int) int64 {
	h.t.Helper()
	next, _, number, run := h.o.Admit(h.st, r, twoTiers, midday)
	must.That(h.t, run, "%s waits: %+v", what, h.st)
	r.Number = number
	st, number := h.o.After(next, r, policy.Decision{Outcome: outcome, Due: midday}, deadLetter, dead...)
	h.st = h.o.PartsDied(st, len(dead))
	return number
}

// wantWaits checks whether a further record of the key must wait.
func (h *blocking) wantWaits(what string, so bool) {
	h.t.Helper()
	if _, _, _, run := h.o.Admit(h.st, Record{}, twoTiers, midday); run == so {
		h.t.Fatalf("%s: a further record runs is %v: %+v", what, run, h.st)
	}
}

func replayed(part int) Record {
	return Record{DeadLetterID: fmt.Sprint("L-", part), Part: header.Part{Index: part, Of: 9}}
}

// A key stays blocked until every dead letter of a record is resolved, in whatever order that happens.
func TestHeldParts_S3_1(t *testing.T) {
	t.Parallel()
	type step struct {
		what    string
		a       Record
		outcome policy.Outcome
		letter  string
		dead    []int
	}
	whole := Record{DeadLetterID: "L"}
	remaining := Record{DeadLetterID: "L", FromTier: true, OwnDeadLetter: "L"}
	again := func(part int) Record { a := replayed(part); a.FromTier = true; return a }
	for name, steps := range map[string][]step{
		"parts of one attempt": {
			{"record", Record{OwnDeadLetter: "L"}, policy.OutcomeDelivered, "", []int{1, 4}},
			{"part 4", replayed(4), policy.OutcomeDelivered, "", nil}, {"part 1", replayed(1), policy.OutcomeSuperseded, "", nil},
		},
		"one part fails again, one is retried": {
			{"record", Record{OwnDeadLetter: "L"}, policy.OutcomeSkipped, "", []int{1, 4}},
			{"part 4", replayed(4), policy.OutcomeDeadLettered, "L-4", nil}, {"part 1", replayed(1), policy.OutcomeRetried, "", nil}, {"part 4", replayed(4), policy.OutcomeDelivered, "", nil},
			{"part 1 again", again(1), policy.OutcomeDelivered, "", nil},
		},
		"a replayed record fails in parts": {
			{"record", Record{}, policy.OutcomeDeadLettered, "L", nil},
			{"letter", whole, policy.OutcomeRetried, "", []int{1, 2}}, {"part 1", replayed(1), policy.OutcomeDelivered, "", nil},
			{"rest", remaining, policy.OutcomeDelivered, "", []int{3}}, {"part 2", replayed(2), policy.OutcomeDelivered, "", nil}, {"part 3", replayed(3), policy.OutcomeDelivered, "", nil},
		},
		"the parts finish before the remaining ones": {
			{"record", Record{}, policy.OutcomeDeadLettered, "L", nil},
			{"letter", whole, policy.OutcomeRetried, "", []int{1}}, {"part 1", replayed(1), policy.OutcomeDelivered, "", nil}, {"rest", remaining, policy.OutcomeDelivered, "", nil},
		},
		"the remaining parts become a dead letter": {
			{"record", Record{}, policy.OutcomeDeadLettered, "L", nil},
			{"letter", whole, policy.OutcomeRetried, "", []int{1}}, {"rest", remaining, policy.OutcomeDeadLettered, "L", nil},
			{"letter", Record{DeadLetterID: "L", OwnDeadLetter: "L"}, policy.OutcomeDelivered, "", nil}, {"part 1", replayed(1), policy.OutcomeDelivered, "", nil},
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := &blocking{t: t, o: Rules{Mode: Strict, HoldKey: true}}
			for i, s := range steps {
				if i > 0 {
					h.wantWaits("before "+s.what, true)
				}
				h.finish(s.what, s.a, s.outcome, s.letter, s.dead...)
			}
			h.wantWaits("at the end", false)
			expect.That(t, h.st.Held == "" && h.st.HeldParts == "" && !h.st.HeldRemaining, "it is still blocked: %+v", h.st)
		})
	}
}

// The remaining parts of a record continue although its dead parts block the key. Records behind it wait for both.
func TestHeldParts_S3_1_theRestOfARecordIsNotHeldByItsParts(t *testing.T) {
	t.Parallel()
	h := &blocking{t: t, o: Rules{Mode: Strict, HoldKey: true}}
	n := h.finish("record", Record{OwnDeadLetter: "L"}, policy.OutcomeRetried, "", 1)
	remaining := Record{FromTier: true, Number: n, OwnDeadLetter: "L"}
	h.wantWaits("while the remaining parts wait", true)
	n = h.finish("rest", remaining, policy.OutcomeRetried, "", 2)
	h.finish("part 1", replayed(1), policy.OutcomeDelivered, "")
	h.finish("rest", Record{FromTier: true, Number: n, OwnDeadLetter: "L"}, policy.OutcomeDeadLettered, "L")
	h.finish("part 2", replayed(2), policy.OutcomeDelivered, "")
	h.wantWaits("while the remaining parts are a dead letter", true)
	h.finish("letter", Record{DeadLetterID: "L", OwnDeadLetter: "L"}, policy.OutcomeDelivered, "")
	h.wantWaits("at the end", false)
}

// With continue, dead parts do not block the key.
func TestHeldParts_S3_1_continueHoldsNothing(t *testing.T) {
	t.Parallel()
	h := &blocking{t: t, o: Rules{Mode: Strict}}
	h.finish("record", Record{OwnDeadLetter: "L"}, policy.OutcomeDelivered, "", 1, 2)
	h.wantWaits("behind it", false)
}
