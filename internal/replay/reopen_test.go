package replay

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/replay/plan"
)

// supersede says what the consumer says of letters whose replay newer data has overtaken.
func (w *world) supersede(ids ...string) {
	w.t.Helper()
	for _, id := range ids {
		w.die(deadletters.State{ID: id, Status: deadletters.Superseded, ReplayID: "r0", ReprocessCount: 1, Reason: "superseded", At: start.Add(-time.Minute), By: "consumer c"}.Record("features.dlq-status", 0))
		w.dead--
	}
}

// S4-8: superseded letters are reopened when they are meant, and only then.
func TestReopen_S4_8_superseded_letters_when_they_are_meant(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.dieMany(4)
	w.supersede("letter-0", "letter-1")
	w.change(Discard, deadletters.Filter{IDs: []string{"letter-2"}})
	if r := w.change(Reopen, deadletters.Filter{}); r.Changed != 1 || r.Overtaken != nil {
		t.Errorf("without a word about superseded dead letters: %+v", r)
	}
	if r := w.change(Reopen, deadletters.Filter{IDs: []string{"letter-0", "letter-3"}}); r.Changed != 1 || !slices.Equal(r.Overtaken, []string{"letter-0"}) ||
		r.Left != 1 || !strings.Contains(r.Skipped[0].Why, "reopen changes dead letters that are [discarded escalated superseded]") {
		t.Errorf("by id: %+v", r)
	}
	if r := w.change(Reopen, deadletters.Filter{Statuses: []deadletters.Status{deadletters.Superseded}}); r.Changed != 1 || !slices.Equal(r.Overtaken, []string{"letter-1"}) {
		t.Errorf("by status: %+v", r)
	}
	for _, id := range []string{"letter-0", "letter-1"} {
		if s := w.states()[id]; s.Status != deadletters.Pending || s.ReprocessCount != 1 || s.Reason != "because" || s.By != "ana" || s.DLQ.Topic == "" {
			t.Errorf("%s: %+v", id, s)
		}
	}
	events := w.events()
	if last := events[len(events)-1]; last.Letter == "" || !strings.Contains(last.Message, "superseded -> pending by ana") || last.Reason != "because" {
		t.Errorf("audit event %+v", last)
	}
}

// S4-8: what an operator decides after the consumer has closed a letter does not make a failure of its replay.
func TestStatus_S4_8_aReopenedLetterDidNotFailAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.dieMany(2)
	w.supersede("letter-0", "letter-1")
	w.change(Reopen, deadletters.Filter{IDs: []string{"letter-0"}})
	w.change(Discard, deadletters.Filter{IDs: []string{"letter-0"}})
	if r := w.report(w.service(), "r0"); r.Attempted != 2 || r.Closed != 2 || r.FailedAgain != 0 {
		t.Errorf("%+v", r)
	}
}

// What a plan says of a superseded letter is what to do about it.
func TestPlan_S4_8_says_of_superseded_letters_what_to_do(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.dieMany(3)
	w.supersede("letter-0", "letter-1")
	s := w.service()
	p := w.plan(s, deadletters.Filter{IDs: []string{"letter-0", "letter-2"}})
	if got := p.Summary(); got.Overtaken != 1 || got.Left != 1 || got.Reinject != 1 || p.Overtaken != 0 {
		t.Errorf("%+v, passed over %d", got, p.Overtaken)
	}
	for _, l := range w.letters(p) {
		if l.ID == "letter-0" && !(l.Overtaken && l.Do == plan.Leave && strings.Contains(l.Why, "replayer reopen it, then plan it with --force-version")) {
			t.Errorf("%+v", l)
		}
	}
	if p := w.plan(s, deadletters.Filter{}); p.Letters != 1 || p.Overtaken != 2 {
		t.Errorf("of all: %d dead letters, passed over %d", p.Letters, p.Overtaken)
	}
	if p := w.plan(s, deadletters.Filter{Features: []string{"letter-1"}}); p.Letters != 0 || p.Overtaken != 1 {
		t.Errorf("of one: %d dead letters, passed over %d", p.Letters, p.Overtaken)
	}
	forced, err := s.Plan(w.ctx(), deadletters.Filter{IDs: []string{"letter-0"}}, PlanOptions{Force: "x"})
	if err != nil || forced.Summary().Reinject != 0 { // there is one way: reopen first
		t.Errorf("forced without being reopened: %+v, %v", forced.Summary(), err)
	}
}
