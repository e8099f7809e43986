package replay

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/replay/operation"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/lettermodel"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// verify holds the operators' chain in both partitions of the audit topic against its heads.
func (w *world) verify() []audit.Report {
	w.t.Helper()
	client := w.service().client
	reports := must.Get(audit.Verify(w.ctx(), client, w.cfg.Topics.Audit, nil, func(ctx context.Context) (audit.Heads, error) {
		heads, err := deadletters.ChainHeads(ctx, client, w.cfg.Topics.DLQStatus)
		return audit.Heads{audit.Operators: heads}, err
	}))(w.t)
	return reports
}

// acted leaves the trail of some work: three operations of several transactions, beside a consumer's events.
func acted(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.dieMany(inBatch + 20)
	w.execute(w.service(), w.plan(w.service(), deadletters.Filter{Limit: inBatch + 10}))
	consumers := must.Get(audit.Event{Time: start, Pipeline: "features", Source: "features/0/1", FeatureID: "mill", Key: []byte("mill-key"), Decision: audit.Retried, RunID: "c"}.Record("features.audit", 0))(t)
	w.die(consumers)
	w.change(Discard, deadletters.Filter{})
	w.change(Reopen, deadletters.Filter{})
	return w
}

func TestTrail_selects_events(t *testing.T) {
	t.Parallel()
	w := acted(t)
	count := func(f audit.Filter) int {
		n := 0
		must.Do(t, w.service().AuditEvents(w.ctx(), f, func(audit.Event) error { n++; return nil }))
		return n
	}
	for name, c := range map[string]struct {
		filter audit.Filter
		want   int
	}{
		"operators":   {audit.Filter{}, inBatch + 33},
		"all":         {audit.Filter{All: true}, inBatch + 34},
		"replay":      {audit.Filter{Operation: "r1"}, inBatch + 11},
		"letter":      {audit.Filter{DeadLetter: "letter-0"}, 1},
		"its record":  {audit.Filter{DeadLetter: "0-1-0123abcd"}, 1}, // a retry from before its death, which names no letter
		"of another":  {audit.Filter{DeadLetter: "0-2-0123abcd"}, 0},
		"feature":     {audit.Filter{Feature: "mill"}, 1},
		"source":      {audit.Filter{Source: "features/0/1"}, 1},
		"key":         {audit.Filter{Key: []byte("mill-key")}, 1},
		"other key":   {audit.Filter{Key: []byte("mill")}, 0},
		"somebody":    {audit.Filter{By: "bo"}, 0},
		"operations":  {audit.Filter{Decisions: []audit.Decision{audit.Operation}}, 3},
		"later":       {audit.Filter{Since: time.Now().Add(time.Hour)}, 0},
		"as a whole":  {audit.Filter{Since: start}, inBatch + 33},
		"consumer's":  {audit.Filter{All: true, Decisions: []audit.Decision{audit.Retried}}, 1},
		"no operator": {audit.Filter{Decisions: []audit.Decision{audit.Retried}}, 0},
	} {
		expect.Equal(t, count(c.filter), c.want, name, "events")
	}
}

func (w *world) undo(operation string) ChangeResult {
	w.t.Helper()
	preview := must.Get(w.service().PreviewUndo(w.ctx(), operation))(w.t)
	r := must.Get(w.service().Undo(w.ctx(), operation, ana("by mistake"), nil))(w.t)
	expect.That(w.t, preview.Selected == r.Selected && preview.Changed == r.Changed && preview.Left == r.Left, "the dry run of undo said %+v, and it was %+v", preview, r)
	return r
}

func (w *world) statuses() map[deadletters.Status]int {
	n := map[deadletters.Status]int{}
	for _, s := range w.states() {
		n[s.Status]++
	}
	return n
}

// An undo reverses one operation and no other. What somebody touched since stays as it is, and the answer says how many and why.
func TestUndo_S4_6_leaves_what_was_touched_since(t *testing.T) {
	w := parallel(t)
	w.dieMany(7)
	w.change(Discard, deadletters.Filter{IDs: []string{"letter-6"}}) // on purpose
	mistake := w.change(Discard, deadletters.Filter{})
	w.change(Reopen, deadletters.Filter{IDs: []string{"letter-0", "letter-1"}})
	w.change(Discard, deadletters.Filter{IDs: []string{"letter-1"}}) // the same status again, of another operation
	r := w.undo(mistake.ID)
	must.That(t, r.Selected == 6 && r.Changed == 4 && r.Left == 2 && len(r.LeftBy) == 2, "%+v", r)
	for _, l := range r.LeftBy {
		expect.That(t, l.Count == 1 && strings.HasPrefix(l.Why, "it was changed since: it is "), "%+v", l)
	}
	s := w.states()
	expect.That(t, s["letter-1"].Status == deadletters.Discarded && s["letter-2"].Status == deadletters.Pending && s["letter-6"].Status == deadletters.Discarded, "%+v", s)
	again := w.undo(mistake.ID)
	expect.That(t, again.Changed == 0 && again.Left == 6, "a second undo: %+v", again)
	expect.Equal(t, len(w.operations()), 5, "operations in the audit topic")
}

func TestUndo_S4_6_takes_an_edit_back(t *testing.T) {
	w := parallel(t)
	broken := fmt.Sprintf(bowTie, "a")
	w.die(letter(0, "a", broken))
	edited := w.edit(deadletters.Filter{}, EditOptions{Rewrite: set(t, mendRing)})
	r := w.undo(edited.ID)
	must.That(t, r.Changed == 1, "%+v", r)
	records := w.read("features.dlq")
	n := len(records)
	expect.That(t, n == 3 && string(records[n-1].Value) == broken, "%d records, the last %s", n, records[n-1].Value)
	p := w.plan(w.service(), deadletters.Filter{})
	got := w.letters(p)
	expect.That(t, len(got) == 1 && !got[0].Today.Passes && got[0].ContentHash == w.states()["a"].ContentHash, "%+v", got)
}

func TestUndo_S4_6_calls_nothing_back_that_was_sent(t *testing.T) {
	w := parallel(t)
	w.dieMany(3)
	s := w.service()
	w.execute(s, w.plan(s, deadletters.Filter{}))
	r := w.undo("r1")
	expect.That(t, r.Changed == 0 && r.Left == 3 && strings.Contains(r.LeftBy[0].Why, "cannot be called back"), "%+v", r)
	_, err := s.Undo(w.ctx(), "discard-20261103T040506Z-00000000", ana("x"), nil)
	expect.That(t, errors.Is(err, ErrNoOperation), "an operation that never was: %v", err)
	_, err = s.Undo(w.ctx(), "r1", ana(" "), nil)
	expect.That(t, errors.Is(err, operation.ErrNoReason), "without a reason: %v", err)
}

func (w *world) change(v Verb, f deadletters.Filter) ChangeResult {
	w.t.Helper()
	return must.Get(w.service().Change(w.ctx(), f, v, ana("because"), nil))(w.t)
}

func TestChange_S4_6_is_reversible_and_audited(t *testing.T) {
	w := parallel(t)
	w.dieMany(6)
	r := w.change(Discard, deadletters.Filter{Limit: 4})
	must.That(t, r.Selected == 4 && r.Changed == 4 && r.Left == 0 && strings.HasPrefix(r.ID, "discard-"), "%+v", r)
	expect.Equal(t, w.plan(w.service(), deadletters.Filter{}).Letters, 2, "letters")
	expect.Equal(t, w.change(Escalate, deadletters.Filter{}).Changed, 2, "escalate changed")
	expect.Equal(t, w.change(Reopen, deadletters.Filter{}).Changed, 6, "reopen changed")
	for id, s := range w.states() {
		expect.That(t, s.Status == deadletters.Pending && s.Reason == "because" && s.By == "ana" && s.DLQ.Topic != "" && s.ContentHash != "", "%s: %+v", id, s)
	}
	events := w.events()
	for _, e := range events {
		expect.That(t, e.Decision == audit.StateChanged && e.By == "ana" && e.DeadLetter != "" && e.Reason == "because" && e.Before != "" && e.Before == e.After, "%+v", e)
	}
	operations := w.operations()
	expect.That(t, len(events) == 12 && len(operations) == 3 && strings.Contains(operations[0].Filter, `"limit":4`), "%d events, operations %+v", len(events), operations)
	w.sentOnce()
}

func TestChange_leaves_what_cannot_be_changed_so(t *testing.T) {
	w := parallel(t)
	w.dieMany(2)
	w.die(deadletters.State{ID: "letter-0", Status: deadletters.Replaying, At: start, By: "bo"}.Record("features.dlq-status", 0))
	r := w.change(Discard, deadletters.Filter{IDs: []string{"letter-0", "letter-1"}})
	expect.That(t, r.Changed == 1 && r.Left == 1 && r.Skipped[0].ID == "letter-0" && strings.Contains(r.Skipped[0].Why, "it is replaying since"), "%+v", r)
	s := w.service()
	_, err := s.Change(w.ctx(), deadletters.Filter{}, Discard, ana(" "), nil)
	expect.That(t, errors.Is(err, operation.ErrNoReason), "without a reason: %v", err)
	_, err = s.Change(w.ctx(), deadletters.Filter{}, "burn", ana("x"), nil)
	expect.That(t, errors.Is(err, operation.ErrOptions), "an unknown verb: %v", err)
}

func (w *world) resolve(at time.Time, s deadletters.Status, partition int32, id string) {
	w.t.Helper()
	w.die(deadletters.State{ID: id, Status: s, At: at, By: "c", ContentHash: "sha256:00"}.Record("features.dlq-status", partition))
}

func TestPrune_S4_7_forgets_what_was_resolved_long_ago(t *testing.T) {
	w := parallel(t)
	long, lately := start.AddDate(0, 0, -31), start.AddDate(0, 0, -29)
	var dead []string
	for i := range 5 {
		id := fmt.Sprintf("zero-%d", i)
		w.die(letter(0, id, fmt.Sprintf(square, id)))
		dead = append(dead, id)
	}
	w.die(letter(1, "one-0", fmt.Sprintf(square, "one")))
	w.undecided(letter(2, "two-0", fmt.Sprintf(square, "two")))() // the marker of its transaction is no record
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
	expect.Equal(t, len(w.states()), 3)
	expect.Equal(t, len(w.events()), 4)
	again, err := s.Prune(w.ctx(), before, ana("again"))
	expect.That(t, err == nil && again.Letters == 0 && again.Records == 0, "again: %+v, %v", again, err)
	_, err = s.Prune(w.ctx(), start.Add(time.Hour), ana("x"))
	expect.That(t, errors.Is(err, operation.ErrOptions), "a time to come: %v", err)
}

// A letter that was changed back and forth since the plan is stale, although it is pending again.
func TestExecute_S4_8_a_letter_that_changed_since_the_plan_is_stale(t *testing.T) {
	w := parallel(t)
	w.dieMany(3)
	p := w.plan(w.service(), deadletters.Filter{})
	w.change(Discard, deadletters.Filter{IDs: []string{"letter-1"}})
	w.change(Reopen, deadletters.Filter{IDs: []string{"letter-1"}})
	r := w.execute(w.service(), p)
	expect.That(t, r.Reinjected == 2 && r.Left == 1 && r.Skipped[0].ID == "letter-1" && strings.Contains(r.Skipped[0].Why, "changed since the plan"), "%+v", r)
}

// Nobody is asked about letters that a verb cannot change.
func TestChange_S4_8_asksOnlyForWhatWouldChange(t *testing.T) {
	w := parallel(t)
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
		expect.That(t, asked == c.asked && (c.asked >= 0 || errors.Is(err, operation.ErrOptions)), "%s %v: asked about %d, %v", c.verb, c.statuses, asked, err)
	}
}
