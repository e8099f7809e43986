package replay

import (
	"errors"
	"testing"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// A person who decides about an escalated letter replays or discards it as it is, and can undo the discard. Who names no status does not
// mean escalated letters.
func TestEscalated_S4_8_areReplayedAndDiscarded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.dieMany(6)
	s := w.service()
	escalated := deadletters.Filter{Statuses: []deadletters.Status{deadletters.Escalated}}
	must.Get(s.Change(w.ctx(), deadletters.Filter{Limit: 4}, Escalate, ana("somebody has to look"), nil))(t)
	if p := w.plan(s, deadletters.Filter{}); p.Letters != 2 {
		t.Errorf("a plan of what is pending has %d letters", p.Letters)
	}
	r, err := s.Change(w.ctx(), deadletters.Filter{}, Discard, ana("not wanted"), nil)
	if err != nil || r.Changed != 2 {
		t.Errorf("discard without a status: %+v, %v", r, err)
	}
	some := escalated
	some.Limit = 2
	if r, err = s.Change(w.ctx(), some, Discard, ana("not wanted"), nil); err != nil || r.Changed != 2 {
		t.Fatalf("discard of escalated ones: %+v, %v", r, err)
	}
	if n := w.statuses(); n[deadletters.Discarded] != 4 || n[deadletters.Escalated] != 2 {
		t.Errorf("%v", n)
	}
	if undone, err := s.Undo(w.ctx(), r.ID, ana("wanted"), nil); err != nil || undone.Changed != 2 {
		t.Errorf("undo: %+v, %v", undone, err)
	}
	if n := w.statuses(); n[deadletters.Escalated] != 4 {
		t.Errorf("%v", n)
	}
	if sent := w.execute(s, w.plan(s, escalated)); sent.Reinjected != 4 {
		t.Errorf("%+v", sent)
	}
	w.consume(well)
}

// Nobody is asked about letters that a verb cannot change.
func TestChange_S4_8_asksOnlyForWhatWouldChange(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.dieMany(4)
	s := w.service()
	must.Get(s.Change(w.ctx(), deadletters.Filter{Limit: 3}, Discard, ana("x"), nil))(t)
	for _, c := range []struct {
		verb     Verb
		statuses []deadletters.Status
		asked    int // negative: it is refused
	}{
		{Discard, []deadletters.Status{deadletters.Reprocessed}, -1},
		{Discard, []deadletters.Status{deadletters.Discarded, deadletters.Duplicate}, -1},
		{Escalate, []deadletters.Status{deadletters.Escalated}, -1},
		{Reopen, []deadletters.Status{deadletters.Pending}, -1},
		{Escalate, []deadletters.Status{deadletters.Pending, deadletters.Discarded}, 1},
		{Reopen, []deadletters.Status{deadletters.Pending, deadletters.Discarded}, 3},
	} {
		asked := -1
		stop := errors.New("no")
		_, err := s.Change(w.ctx(), deadletters.Filter{Statuses: c.statuses}, c.verb, ana("x"), func(n int) error { asked = n; return stop })
		if asked != c.asked || c.asked < 0 && !errors.Is(err, ErrOptions) {
			t.Errorf("%s %v: asked about %d, %v", c.verb, c.statuses, asked, err)
		}
	}
}
