package deadletters

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/dialects"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

var at = time.Date(2026, 11, 3, 4, 5, 6, 70_000_000, time.UTC)

func fullState() State {
	return State{
		ID: "3-42-0a1b2c3d", Status: Replaying,
		Source: header.Position{Topic: "features", Partition: 3, Offset: 42},
		DLQ:    header.Position{Topic: "features.dlq", Partition: 3, Offset: 7}, Writer: Operator,
		KeyHash:     idempotency.HashKey([]byte("parcel-7")),
		ContentHash: "sha256:" + strings.Repeat("ab", 32), ReprocessCount: 1,
		ReplayID: "r1", Reason: "mapping fixed", By: "ana", At: at,
	}
}

func TestParseState_reads_back_what_was_written(t *testing.T) {
	for _, s := range []State{fullState(), {ID: "x", Status: Pending, At: at}} {
		back := must.Get(ParseState(s.Record("t", 0).Value))(t)
		expect.That(t, reflect.DeepEqual(back, s), "got  %+v\nwant %+v", back, s)
	}
}

// A state names its writer by the record of the DLQ: only an operator's has one.
func TestParseState_derives_the_writer(t *testing.T) {
	for value, want := range map[string]Writer{
		`{"id":"x","status":"pending","at":"2026-11-03T04:05:06Z"}`:                            Consumer,
		`{"id":"x","status":"discarded","dlq":"features.dlq/3/7","at":"2026-11-03T04:05:06Z"}`: Operator,
	} {
		s, err := ParseState([]byte(value))
		expect.That(t, err == nil && s.Writer == want, "%s: %v, %v, want %v", value, s.Writer, err, want)
	}
}

func TestParseState_refuses_what_it_does_not_understand(t *testing.T) {
	for name, value := range map[string]string{
		"empty":                        ``,
		"no JSON":                      `{`,
		"unknown status":               `{"id":"x","status":"vaporised","at":"2026-11-03T04:05:06Z"}`,
		"no id":                        `{"status":"pending","at":"2026-11-03T04:05:06Z"}`,
		"no time":                      `{"id":"x","status":"pending"}`,
		"null for a time":              `{"id":"x","status":"pending","at":null}`,
		"broken time":                  `{"id":"x","status":"pending","at":"yesterday"}`,
		"broken position":              `{"id":"x","status":"pending","dlq":"a/b","at":"2026-11-03T04:05:06Z"}`,
		"negative replays":             `{"id":"x","status":"pending","reprocess_count":-1,"at":"2026-11-03T04:05:06Z"}`,
		"a count that is not a number": `{"id":"x","status":"pending","reprocess_count":"1","at":"2026-11-03T04:05:06Z"}`,
	} {
		s, err := ParseState([]byte(value))
		expect.That(t, err != nil, "%s: accepted as %+v", name, s)
	}
}

func TestNext_takes_a_letter_without_a_state_for_pending(t *testing.T) {
	next := must.Get(Next(State{ID: "x"}, Change{To: Replaying, ReplayID: "r9", At: at}))(t)
	expect.That(t, next.Status == Replaying && next.ReplayID == "r9" && next.ReprocessCount == 0, "got %+v", next)
}

func TestClosing_builds_the_state_from_the_headers_of_the_replayed_record(t *testing.T) {
	control := header.Control{
		DeadLetterID: "3-42-0a1b2c3d", ReplayID: "r2", ReplayCount: 2, ContentHash: "sha256:ff",
		Source: header.Position{Topic: "features", Partition: 3, Offset: 42}, HasSource: true,
	}
	s := must.Get(Closing([]byte("k"), control, Change{To: Pending, Reason: "geometry_invalid", By: "consumer-1", At: at}))(t)
	want := State{
		ID: "3-42-0a1b2c3d", Status: Pending, Source: control.Source, KeyHash: idempotency.HashKey([]byte("k")), ContentHash: "sha256:ff",
		ReprocessCount: 2, ReplayID: "r2", Reason: "geometry_invalid", By: "consumer-1", At: at,
	}
	expect.That(t, reflect.DeepEqual(s, want), "got  %+v\nwant %+v", s, want)
	for _, to := range []Status{Reprocessed, Duplicate, Superseded, Discarded, Escalated} {
		must.Get(Closing([]byte("k"), control, Change{To: to, At: at}))(t)
	}
	_, err := Closing([]byte("k"), control, Change{To: Replaying, At: at})
	expect.That(t, err != nil && strings.Contains(err.Error(), "cannot go from replaying to replaying"), "replaying -> replaying: %v", err)
}

func TestClosing_refuses_a_record_that_is_no_replay(t *testing.T) {
	for _, c := range []header.Control{{}, {ReplayID: "r"}, {DeadLetterID: "x"}} {
		_, err := Closing([]byte("k"), c, Change{To: Reprocessed, At: at})
		expect.That(t, err != nil, "accepted %+v", c)
	}
}

func FuzzParseState(f *testing.F) {
	f.Add(fullState().Record("t", 0).Value)
	f.Add([]byte(`{"id":"x","status":"pending","at":"2026-11-03T04:05:06Z"}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, value []byte) {
		s, err := ParseState(value)
		if err != nil {
			return
		}
		back, err := ParseState(s.Record("t", 0).Value)
		must.That(t, err == nil, "read %+v but not what it writes: %v", s, err)
		s.At = s.At.Truncate(time.Millisecond)
		must.That(t, reflect.DeepEqual(back, s), "wrote %+v, read %+v", s, back)
	})
}

// S4-6: an outcome closes a dead letter only from replaying, in the same replay.
func TestFollow_S4_6_onlyFromReplayingInTheSameReplay(t *testing.T) {
	operator := func(s Status, replay string) State { return State{Status: s, ReplayID: replay, Writer: Operator} }
	outcome := func(s Status, replay string) State { return State{Status: s, ReplayID: replay} }
	for name, c := range map[string]struct {
		prev, next State
		unknown    bool
		want       Verdict
	}{
		"the outcome of the replay":                {prev: operator(Replaying, "r1"), next: outcome(Reprocessed, "r1"), want: Applies},
		"it failed again":                          {prev: operator(Replaying, "r1"), next: outcome(Pending, "r1"), want: Applies},
		"of another replay":                        {prev: operator(Replaying, "r2"), next: outcome(Reprocessed, "r1"), want: Foreign},
		"of a dead letter that was never replayed": {prev: outcome(Escalated, ""), next: outcome(Reprocessed, "r1"), want: Foreign},
		"a second one":                             {prev: outcome(Reprocessed, "r1"), next: outcome(Duplicate, "r1"), want: Repeated},
		"a second one after a failure":             {prev: outcome(Pending, "r1"), next: outcome(Reprocessed, "r1"), want: Repeated},
		"after an operator discarded it":           {prev: operator(Discarded, "r1"), next: outcome(Reprocessed, "r1"), want: Foreign},
		"after an operator reopened it":            {prev: operator(Pending, "r1"), next: outcome(Reprocessed, "r1"), want: Foreign},
		"nothing is known of before":               {unknown: true, next: outcome(Reprocessed, "r1"), want: Applies},
		"an operator's":                            {prev: outcome(Superseded, "r1"), next: operator(Pending, "r1"), want: Applies},
		"the next replay":                          {prev: outcome(Pending, "r1"), next: operator(Replaying, "r2"), want: Applies},
		"escalated at once, without a replay":      {prev: operator(Pending, "r1"), next: outcome(Escalated, ""), want: Applies},
		"replaying, by the consumer":               {prev: outcome(Pending, "r1"), next: outcome(Replaying, "r2"), want: Applies},
		"of a replay that the consumer began":      {prev: outcome(Replaying, "r2"), next: outcome(Reprocessed, "r2"), want: Applies},
	} {
		last := LastOf(c.prev)
		if c.unknown {
			last = Last{}
		}
		expect.Equal(t, last.Follow(c.next, c.prev.ReplayID == c.next.ReplayID), c.want, name)
	}
}

// S4-8: the outcome in a record of other software, against every state that it can meet; reading it again, or its
// copy, changes nothing.
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
		"it was discarded since":        {letter(), state(Discarded, own), Discarded, false},
		"it was reopened since":         {letter(), state(Pending, own), Pending, false},
		"a later replay has begun":      {letter(func(l *Letter) { l.Control.ReplayID = "r0" }), state(Replaying, earlier), Replaying, false},
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
			expect.Equal(t, ExternalOutcome(c.letter, got, 3), got, "heard again")
		})
	}
}
