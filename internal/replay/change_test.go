package replay

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/lettermodel"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

func (w *world) change(v Verb, f deadletters.Filter) ChangeResult {
	w.t.Helper()
	return must.Get(w.service().Change(w.ctx(), f, v, ana("because"), nil))(w.t)
}

func TestChange_S4_6_is_reversible_and_audited(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.dieMany(6)
	r := w.change(Discard, deadletters.Filter{Limit: 4})
	must.That(t, r.Selected == 4 && r.Changed == 4 && r.Left == 0 && strings.HasPrefix(r.ID, "discard-"), "%+v", r)
	p := w.plan(w.service(), deadletters.Filter{})
	expect.That(t, p.Letters == 2, "%d dead letters are pending after 4 of 6 were discarded", p.Letters)
	r = w.change(Escalate, deadletters.Filter{})
	expect.That(t, r.Changed == 2, "escalate: %+v", r)
	r = w.change(Reopen, deadletters.Filter{})
	expect.That(t, r.Changed == 6, "reopen: %+v", r)
	for id, s := range w.states() {
		expect.That(t, s.Status == deadletters.Pending && s.Reason == "because" && s.By == "ana" && s.DLQ.Topic != "" && s.ContentHash != "", "%s: %+v", id, s)
	}
	events := w.events()
	for _, e := range events {
		expect.That(t, e.Decision == audit.StateChanged && e.By == "ana" && e.Letter != "" && e.Reason == "because" && e.Before != "" && e.Before == e.After, "%+v", e)
	}
	operations := w.operations()
	expect.That(t, len(events) == 12 && len(operations) == 3 && strings.Contains(operations[0].Filter, `"limit":4`), "%d events, operations %+v", len(events), operations)
	if len(w.sent()) != 0 {
		t.Errorf("dead letters were put back: %v", w.sent())
	}
}

func TestChange_leaves_what_cannot_be_changed_so(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.dieMany(2)
	w.die(deadletters.State{ID: "letter-0", Status: deadletters.Replaying, At: start, By: "bo"}.Record("features.dlq-status", 0))
	r := w.change(Discard, deadletters.Filter{IDs: []string{"letter-0", "letter-1"}})
	expect.That(t, r.Changed == 1 && r.Left == 1 && r.Skipped[0].ID == "letter-0" && strings.Contains(r.Skipped[0].Why, "it is replaying since"), "%+v", r)
	s := w.service()
	_, err := s.Change(w.ctx(), deadletters.Filter{}, Discard, ana(" "), nil)
	expect.That(t, errors.Is(err, ErrNoReason), "without a reason: %v", err)
	_, err = s.Change(w.ctx(), deadletters.Filter{}, "burn", ana("x"), nil)
	expect.That(t, errors.Is(err, ErrOptions), "an unknown verb: %v", err)
}

func (w *world) resolve(at time.Time, s deadletters.Status, partition int32, id string) {
	w.t.Helper()
	w.die(deadletters.State{ID: id, Status: s, At: at, By: "c", ContentHash: "sha256:00"}.Record("features.dlq-status", partition))
}

func TestPrune_S4_7_forgets_what_was_resolved_long_ago(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	long, lately := start.AddDate(0, 0, -31), start.AddDate(0, 0, -29)
	var dead []string
	for i := range 5 {
		id := fmt.Sprintf("zero-%d", i)
		w.die(letter(0, id, fmt.Sprintf(square, id)))
		dead = append(dead, id)
	}
	w.die(letter(1, "one-0", fmt.Sprintf(square, "one")), letter(2, "two-0", fmt.Sprintf(square, "two")))
	w.resolve(long, deadletters.Reprocessed, 0, dead[0])
	w.resolve(long, deadletters.Discarded, 0, dead[1])
	// zero-2 is pending and keeps zero-3, which is resolved, and zero-4, which was resolved lately.
	w.resolve(long, deadletters.Superseded, 0, dead[3])
	w.resolve(lately, deadletters.Reprocessed, 0, dead[4])
	w.resolve(lately, deadletters.Reprocessed, 1, "one-0")
	w.resolve(long, deadletters.Duplicate, 2, "two-0")
	w.resolve(long, deadletters.Reprocessed, 2, "gone-before") // its record was taken earlier

	s := w.service()
	before := start.Add(-s.KeepResolved())
	preview := must.Get(s.PreviewPrune(w.ctx(), before))(t)
	must.That(t, len(w.read("features.dlq")) == 7 && len(w.trail()) == 0, "the preview changed something")
	got := must.Get(s.Prune(w.ctx(), before, ana("monthly")))(t)
	for name, r := range map[string]PruneResult{"preview": preview, "prune": got} {
		expect.That(t, r.Letters == 4 && r.Records == 3 && r.Kept == 1 && r.Statuses[deadletters.Reprocessed] == 2 && len(r.Blocks) == 1 && r.Blocks[0].ID == "zero-2" && r.Blocks[0].Status == deadletters.Pending,
			"%s: %+v", name, r)
	}
	left := w.read("features.dlq")
	expect.That(t, len(left) == 4, "%d records are left in the DLQ, want 4", len(left))
	model := must.Get(lettermodel.Load(w.ctx(), s.client, "features.dlq", "features.dlq-status"))(t)
	for _, l := range model.Select(deadletters.Filter{Statuses: []deadletters.Status{deadletters.Pending}}) {
		expect.That(t, l.ID == "zero-2", "%s is pending although it was resolved", l.ID)
	}
	n := len(w.states())
	expect.That(t, n == 3, "%d states are left, want 3", n)
	n = len(w.events())
	expect.That(t, n == 4, "%d audit events, want one for each dead letter", n)
	again, err := s.Prune(w.ctx(), before, ana("again"))
	expect.That(t, err == nil && again.Letters == 0 && again.Records == 0, "again: %+v, %v", again, err)
	_, err = s.Prune(w.ctx(), start.Add(time.Hour), ana("x"))
	expect.That(t, errors.Is(err, ErrOptions), "a time to come: %v", err)
}

// What pruning says it deletes are records, not offsets: the markers of transactions are none.
func TestPrune_S4_7_counts_records(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	commit := w.undecided(letter(0, "a", square))
	commit()
	w.resolve(start.AddDate(0, 0, -31), deadletters.Discarded, 0, "a")
	s := w.service()
	r, err := s.PreviewPrune(w.ctx(), start.Add(-s.KeepResolved()))
	expect.That(t, err == nil && r.Letters == 1 && r.Records == 1, "%+v, %v", r, err)
}

// A letter that was changed back and forth since the plan is stale, although it is pending again.
func TestExecute_S4_8_a_letter_that_changed_since_the_plan_is_stale(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.dieMany(3)
	p := w.plan(w.service(), deadletters.Filter{})
	w.change(Discard, deadletters.Filter{IDs: []string{"letter-1"}})
	w.change(Reopen, deadletters.Filter{IDs: []string{"letter-1"}})
	r := w.execute(w.service(), p)
	expect.That(t, r.Reinjected == 2 && r.Left == 1 && r.Skipped[0].ID == "letter-1" && strings.Contains(r.Skipped[0].Why, "changed since the plan"), "%+v", r)
}

// A person who decides about an escalated letter replays or discards it as it is, and can undo the discard. Who names no status does not
// mean escalated letters.
func TestEscalated_S4_8_areReplayedAndDiscarded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.dieMany(6)
	s := w.service()
	escalated := deadletters.Filter{Statuses: []deadletters.Status{deadletters.Escalated}}
	must.Get(s.Change(w.ctx(), deadletters.Filter{Limit: 4}, Escalate, ana("somebody has to look"), nil))(t)
	p := w.plan(s, deadletters.Filter{})
	expect.That(t, p.Letters == 2, "a plan of what is pending has %d letters", p.Letters)
	r, err := s.Change(w.ctx(), deadletters.Filter{}, Discard, ana("not wanted"), nil)
	expect.That(t, err == nil && r.Changed == 2, "discard without a status: %+v, %v", r, err)
	some := escalated
	some.Limit = 2
	if r, err = s.Change(w.ctx(), some, Discard, ana("not wanted"), nil); err != nil || r.Changed != 2 {
		t.Fatalf("discard of escalated ones: %+v, %v", r, err)
	}
	n := w.statuses()
	expect.That(t, n[deadletters.Discarded] == 4 && n[deadletters.Escalated] == 2, "%v", n)
	undone, err := s.Undo(w.ctx(), r.ID, ana("wanted"), nil)
	expect.That(t, err == nil && undone.Changed == 2, "undo: %+v, %v", undone, err)
	n = w.statuses()
	expect.That(t, n[deadletters.Escalated] == 4, "%v", n)
	sent := w.execute(s, w.plan(s, escalated))
	expect.That(t, sent.Reinjected == 4, "%+v", sent)
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
		expect.That(t, asked == c.asked && (c.asked >= 0 || errors.Is(err, ErrOptions)), "%s %v: asked about %d, %v", c.verb, c.statuses, asked, err)
	}
}
