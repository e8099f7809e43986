package states

import (
	"strings"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// Replayed content is forgotten when its dead letter fails again or is pruned.
func TestTable_C4_forgetsReplayedContent(t *testing.T) {
	t.Parallel()
	s := NewTable(3)
	state := func(id string, status deadletters.Status) deadletters.State {
		return deadletters.State{
			ID: id, Status: status, ContentHash: "sha256:00", KeyHash: idempotency.HashKey([]byte("k")),
			Source: header.Position{Topic: "features", Partition: 2, Offset: 40},
		}
	}
	set := func(id string, status deadletters.Status) { s.Set(state(id, status)) }
	of := state("", "")
	same, _ := contentOfState(&of)
	holds := func(when, want string) {
		t.Helper()
		id, ok := s.holder(same, 40)
		expect.That(t, ok == (want != "") && (!ok || id == want), "%s: holder %q %v, want %q", when, id, ok, want)
	}
	set("a", deadletters.Replaying)
	set("b", deadletters.Duplicate)
	holds("put back", "a")
	set("a", deadletters.Pending)
	holds("failed again", "")
	set("b", deadletters.Reprocessed)
	set("a", deadletters.Discarded)
	holds("another one", "b")
	s.add(&deadletters.StateRecord{ID: "b", Removed: true})
	holds("pruned", "")
	long := strings.Repeat("long", 100)
	set(long, deadletters.Replaying)
	holds("a long id", long)
	set(long, deadletters.Pending)
	holds("a long id failed again", "")
}

// Of two replayed dead letters with one content, the one that was first read later counts. Earlier ones are its duplicates.
func TestTable_C4_theLatestReplayedContentCounts(t *testing.T) {
	t.Parallel()
	full := deadletters.State{
		ID: "at-40", Status: deadletters.Reprocessed, ContentHash: "sha256:00", KeyHash: idempotency.HashKey([]byte("k")),
		Source: header.Position{Topic: "features", Partition: 2, Offset: 40},
	}
	later := full
	later.ID, later.Source.Offset = "at-50", 50
	same, _ := contentOfState(&full)
	s := NewTable(3)
	for _, state := range []deadletters.State{full, later, full} {
		s.Set(state)
	}
	for offset, want := range map[int64]string{39: "at-50", 40: "at-50", 50: "at-50", 51: ""} {
		id, ok := s.holder(same, offset)
		expect.That(t, ok == (want != "") && (!ok || id == want), "first read at %d: holder %q %v, want %q", offset, id, ok, want)
	}
	for name, change := range map[string]func(*deadletters.State){
		"another content":   func(s *deadletters.State) { s.ContentHash = "sha256:01" },
		"another key":       func(s *deadletters.State) { s.KeyHash = idempotency.HashKey([]byte("other")) },
		"another partition": func(s *deadletters.State) { s.Source.Partition = 3 },
	} {
		other := full
		change(&other)
		key, ok := contentOfState(&other)
		_, held := s.holder(key, 1)
		expect.That(t, ok && !held, "%s: held", name)
	}
	for name, change := range map[string]func(*deadletters.State){
		"no content": func(s *deadletters.State) { s.ContentHash = "" },
		"no key":     func(s *deadletters.State) { s.KeyHash = idempotency.KeyHash{} },
		"no place":   func(s *deadletters.State) { s.Source = header.Position{} },
	} {
		other := full
		change(&other)
		_, ok := contentOfState(&other)
		expect.That(t, !ok, "%s: compared with others", name)
	}
}

// C-4: two features of one collection with equal content are two features, and not duplicates.
func TestContent_C4_partsOfOneRecordAreApart(t *testing.T) {
	t.Parallel()
	a, b := letterOfPart(1, 5), letterOfPart(2, 5)
	expect.That(t, ContentOf(a) != ContentOf(b) && ContentOf(a) == ContentOf(letterOfPart(1, 5)), "the part does not tell contents apart")
	state := deadletters.State{ID: a.ID}.Naming(a)
	of, ok := contentOfState(&state)
	expect.That(t, ok && of == ContentOf(a), "its state speaks of another content than the dead letter")
}

// A reason of an operator that reads like the replayer's own does not count as --to.
func TestStatus_S4_8_aReasonIsNoDestination(t *testing.T) {
	t.Parallel()
	for reason, to := range map[string]string{
		"sent to the owner by mail": "", "sent to features.quarantine: by hand": "", "": "features.quarantine", "given to the owner": "features.quarantine",
	} {
		st := NewTable(3)
		for i, state := range []deadletters.State{
			{Status: deadletters.Replaying, Writer: deadletters.Operator},
			{Status: deadletters.Pending},
			{Status: deadletters.Discarded, Writer: deadletters.Operator, Reason: reason, Destination: to},
		} {
			state.ID, state.ReplayID, state.At = "0-1-aa", "r", noon.Add(time.Duration(i)*time.Second)
			st.add(&deadletters.StateRecord{ID: state.ID, State: state})
		}
		r := st.report("r", foreignFacts{unheardBefore: noon})
		want := to != ""
		expect.That(t, (r.Elsewhere == 1) == want && (r.FailedAgain == 1) != want, "%q to %q: elsewhere %d, failed again %d", reason, to, r.Elsewhere, r.FailedAgain)
	}
}

// The outcome of each dead letter counts once. A failure in other software replaces an outcome of the consumer, whichever comes first.
func TestOutcomes_S4_8_countEachLetterOnce(t *testing.T) {
	t.Parallel()
	w := Counter{Counts: Counts{Reasons: map[string]int{}}, finished: map[Key]deadletters.Last{}, Foreign: ForeignLetters{Sent: 2}}
	for _, c := range []struct {
		id                           string
		to                           deadletters.Status
		reprocessed, failed, awaited int
	}{
		{"own", deadletters.Reprocessed, 1, 0, 2},
		{"own", deadletters.Reprocessed, 1, 0, 2},
		{"dlq-0-1", deadletters.Reprocessed, 2, 0, 1},
		{"dlq-0-1", deadletters.Pending, 1, 1, 1},
		{"dlq-0-1", deadletters.Pending, 1, 1, 1},
		{"dlq-0-1", deadletters.Reprocessed, 1, 1, 1},
		{"dlq-0-2", deadletters.Escalated, 1, 2, 0},
	} {
		w.take(deadletters.State{ID: c.id, Status: c.to, ReplayID: "r", Writer: deadletters.Consumer})
		got := w.Counts
		expect.That(t, got.Reprocessed == c.reprocessed && got.FailedAgain == c.failed && w.Foreign.Open() == c.awaited, "after %s: %s: %+v, %d awaited", c.id, c.to, got, w.Foreign.Open())
	}
}

var noon = time.Date(2026, 11, 3, 12, 0, 0, 0, time.UTC)

// letterOfPart is the dead letter of a part of the record at offset 40.
func letterOfPart(index int, version int64) *deadletters.Letter {
	l := &deadletters.Letter{Key: []byte("k"), ContentHash: "sha256:00", ID: "0-40-aabbccdd-" + string(rune('0'+index))}
	l.Control = header.Control{
		Source: header.Position{Topic: "features", Offset: 40}, HasSource: true, Part: header.Part{Index: index, Of: 8}, PartVersion: &version,
	}
	return l
}
