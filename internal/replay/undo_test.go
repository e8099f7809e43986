package replay

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

func (w *world) undo(operation string) ChangeResult {
	w.t.Helper()
	preview := must.Get(w.service().PreviewUndo(w.ctx(), operation))(w.t)
	r := must.Get(w.service().Undo(w.ctx(), operation, ana("by mistake"), nil))(w.t)
	if preview.Selected != r.Selected || preview.Changed != r.Changed || preview.Left != r.Left {
		w.t.Errorf("the dry run of undo said %+v, and it was %+v", preview, r)
	}
	return r
}

func (w *world) statuses() map[deadletters.Status]int {
	n := map[deadletters.Status]int{}
	for _, s := range w.states() {
		n[s.Status]++
	}
	return n
}

// The night of issue 18: somebody discards everything. Two had been discarded on purpose before; they stay.
func TestUndo_S4_6_reverses_one_operation_and_no_other(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.dieMany(8)
	w.change(Discard, deadletters.Filter{Limit: 2})
	mistake := w.change(Discard, deadletters.Filter{})
	if mistake.Changed != 6 {
		t.Fatalf("%+v", mistake)
	}
	if r := w.undo(mistake.ID); r.Selected != 6 || r.Changed != 6 || r.Left != 0 || !strings.HasPrefix(r.ID, "undo-") {
		t.Errorf("%+v", r)
	}
	if got := w.statuses(); got[deadletters.Discarded] != 2 || got[deadletters.Pending] != 6 {
		t.Errorf("after the undo: %v", got)
	}
}

// What somebody touched since stays as it is, and the answer says how many and why.
func TestUndo_S4_6_leaves_what_was_touched_since(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.dieMany(6)
	mistake := w.change(Discard, deadletters.Filter{})
	w.change(Reopen, deadletters.Filter{IDs: []string{"letter-0", "letter-1"}})
	w.change(Discard, deadletters.Filter{IDs: []string{"letter-1"}}) // the same status again, of another operation
	r := w.undo(mistake.ID)
	if r.Selected != 6 || r.Changed != 4 || r.Left != 2 || len(r.LeftBy) != 2 {
		t.Fatalf("%+v", r)
	}
	for _, l := range r.LeftBy {
		if l.Count != 1 || !strings.HasPrefix(l.Why, "it was changed since: it is ") {
			t.Errorf("%+v", l)
		}
	}
	if s := w.states(); s["letter-1"].Status != deadletters.Discarded || s["letter-2"].Status != deadletters.Pending {
		t.Errorf("%+v", s)
	}
	if again := w.undo(mistake.ID); again.Changed != 0 || again.Left != 6 {
		t.Errorf("a second undo: %+v", again)
	}
	if n := len(w.operations()); n != 4 {
		t.Errorf("%d operations in the audit topic, want the three changes and one undo", n)
	}
}

func TestUndo_S4_6_takes_an_edit_back(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	broken := fmt.Sprintf(bowTie, "a")
	w.die(letter(0, "a", broken))
	edited := w.edit(deadletters.Filter{}, EditOptions{Rewrite: set(t, mendRing)})
	if r := w.undo(edited.ID); r.Changed != 1 {
		t.Fatalf("%+v", r)
	}
	records := w.read("features.dlq")
	if n := len(records); n != 3 || string(records[n-1].Value) != broken {
		t.Errorf("%d records, the last %s", n, records[n-1].Value)
	}
	p := w.plan(w.service(), deadletters.Filter{})
	if got := w.letters(p); len(got) != 1 || got[0].Today.Passes || got[0].ContentHash != w.states()["a"].ContentHash {
		t.Errorf("%+v", got)
	}
}

func TestUndo_S4_6_calls_nothing_back_that_was_sent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.dieMany(3)
	s := w.service()
	w.execute(s, w.plan(s, deadletters.Filter{}))
	if r := w.undo("r1"); r.Changed != 0 || r.Left != 3 || !strings.Contains(r.LeftBy[0].Why, "cannot be called back") {
		t.Errorf("%+v", r)
	}
	if _, err := s.Undo(w.ctx(), "discard-20261103T040506Z-00000000", ana("x"), nil); !errors.Is(err, ErrNoOperation) {
		t.Errorf("an operation that never was: %v", err)
	}
	if _, err := s.Undo(w.ctx(), "r1", ana(" "), nil); !errors.Is(err, ErrNoReason) {
		t.Errorf("without a reason: %v", err)
	}
}
