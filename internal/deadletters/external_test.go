package deadletters

import (
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/dialects"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// S4-8: what a record of other software says of a replay, against each state that it can meet; and once it was heard, hearing
// it again, or its copy, changes nothing.
func TestHeard_S4_8_is_a_function_of_the_last_record_and_the_last_state(t *testing.T) {
	died := time.Date(2026, 11, 3, 4, 5, 6, 0, time.UTC)
	earlier, own := header.Position{Topic: "dlq", Offset: 3}, header.Position{Topic: "dlq", Offset: 9}
	letter := func(change ...func(*Letter)) *Letter {
		l := &Letter{ID: "dlq-0-3", Dialect: dialects.Spring, DLQ: own, At: died, ContentHash: "sha256:00"}
		l.Control = header.Control{DeadLetterID: l.ID, ReplayID: "r1", ReplayCount: 2, ErrorCode: "IllegalStateException"}
		for _, c := range change {
			c(l)
		}
		return l
	}
	state := func(s Status, dlq header.Position) State {
		return State{ID: "dlq-0-3", Status: s, DLQ: dlq, Writer: WriterOf(dlq), ReplayID: "r1", ReprocessCount: 1, By: "ana"}
	}
	for name, c := range map[string]struct {
		letter *Letter
		state  State
		want   Status
		heard  bool
	}{
		"put back":                      {letter(), state(Replaying, earlier), Pending, true},
		"at the cap":                    {letter(func(l *Letter) { l.Control.ReplayCount = 3 }), state(Replaying, earlier), Escalated, true},
		"the consumer delivered it":     {letter(), state(Reprocessed, header.Position{}), Pending, true},
		"the consumer failed too":       {letter(), state(Pending, header.Position{}), Pending, false},
		"the consumer escalated it":     {letter(), state(Escalated, header.Position{}), Escalated, false},
		"the wait was ended before":     {letter(), state(Discarded, earlier), Pending, true},
		"it was given up since":         {letter(), state(Discarded, own), Discarded, false},
		"it was reopened since":         {letter(), state(Pending, own), Pending, false},
		"a later replay has it":         {letter(func(l *Letter) { l.Control.ReplayID = "r0" }), state(Replaying, earlier), Replaying, false},
		"the first death":               {letter(func(l *Letter) { l.Control = header.Control{} }), state(Replaying, earlier), Replaying, false},
		"this software's record":        {letter(func(l *Letter) { l.Dialect = Native }), state(Replaying, earlier), Replaying, false},
		"this software's dead letter":   {letter(func(l *Letter) { l.ID = "0-3-9f86d081" }), state(Replaying, earlier), Replaying, false},
		"an edit of a record like that": {letter(func(l *Letter) { l.EditOf = own }), state(Pending, own), Pending, false},
	} {
		t.Run(name, func(t *testing.T) {
			got := ExternalOutcome(c.letter, c.state, 3)
			expect.That(t, got.Status == c.want && (got != c.state) == c.heard, "got %+v, want %s, heard %v", got, c.want, c.heard)
			expect.That(t, !c.heard || got.ReprocessCount == c.letter.Control.ReplayCount && got.Reason == "failed again: IllegalStateException" && got.By == "spring" && got.At.Equal(died) && got.ReplayID == "r1" && got.DLQ == (header.Position{}),
				"got %+v", got)
			again := ExternalOutcome(c.letter, got, 3)
			expect.That(t, again == got, "heard again: %+v, before %+v", again, got)
		})
	}
}
