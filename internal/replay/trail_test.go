package replay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// verify holds the operators' chain in both partitions of the audit topic against its heads.
func (w *world) verify() []audit.Report {
	w.t.Helper()
	client := w.service().client
	reports := must.Get(audit.Verify(w.ctx(), client, "features.audit", nil, func(ctx context.Context) (audit.Heads, error) {
		heads, err := deadletters.ChainHeads(ctx, client, "features.dlq-status")
		return audit.Heads{audit.Operators: heads}, err
	}))(w.t)
	return reports
}

// acted leaves the trail of some work: three operations of several transactions, beside a consumer's events.
func acted(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.dieMany(batchLetters + 20)
	w.execute(w.service(), w.plan(w.service(), deadletters.Filter{Limit: batchLetters + 10}))
	consumers := must.Get(audit.Event{Time: start, Pipeline: "features", Source: "features/0/1", FeatureID: "mill", Key: []byte("mill-key"), Decision: audit.Retried, RunID: "c"}.Record("features.audit", 0))(t)
	w.die(consumers)
	w.change(Discard, deadletters.Filter{})
	w.change(Reopen, deadletters.Filter{})
	return w
}

func TestVerify_S0_11_finds_what_was_tampered_with(t *testing.T) {
	t.Parallel()
	w := acted(t)
	mine := slices.DeleteFunc(w.read("features.audit"), func(r *kgo.Record) bool { return r.Partition != 1 })
	for name, c := range map[string]struct {
		tamper func(records []*kgo.Record) []*kgo.Record
		says   string
	}{
		"reason changed": {func(r []*kgo.Record) []*kgo.Record {
			r[3].Value = bytes.Replace(r[3].Value, []byte(`"reason":"fixed"`), []byte(`"reason":"asked"`), 1)
			return r
		}, "was changed"},
		"event removed":      {func(r []*kgo.Record) []*kgo.Record { return append(r[:5:5], r[6:]...) }, "follows entry"},
		"last event removed": {func(r []*kgo.Record) []*kgo.Record { return r[:len(r)-1] }, "it ends with entry"},
	} {
		t.Run(name, func(t *testing.T) {
			var copies []*kgo.Record
			for _, r := range mine {
				copies = append(copies, &kgo.Record{Topic: r.Topic, Partition: 1, Key: r.Key, Value: r.Value})
			}
			ends := must.Get(w.log.Admin().ListEndOffsets(w.ctx(), "features.audit"))(t)
			end, _ := ends.Lookup("features.audit", 1)
			must.Do(t, w.broker.DeleteRecords("features.audit", 1, end.Offset))
			if forged := c.tamper(copies); len(forged) > 0 {
				w.die(forged...)
			}
			reports := w.verify()
			expect.That(t, reports[0].Fault == "" && strings.Contains(reports[1].Fault, c.says), "%+v, want %q", reports, c.says)
		})
	}
}

func TestTrail_selects_events(t *testing.T) {
	t.Parallel()
	w := acted(t)
	count := func(f TrailFilter) int {
		n := 0
		must.Do(t, w.service().Trail(w.ctx(), f, func(audit.Event) error { n++; return nil }))
		return n
	}
	for name, c := range map[string]struct {
		filter TrailFilter
		want   int
	}{
		"operators":   {TrailFilter{}, batchLetters + 33},
		"all":         {TrailFilter{All: true}, batchLetters + 34},
		"replay":      {TrailFilter{Operation: "r1"}, batchLetters + 11},
		"letter":      {TrailFilter{Letter: "letter-0"}, 1},
		"its record":  {TrailFilter{Letter: "0-1-0123abcd"}, 1}, // a retry from before its death, which names no letter
		"of another":  {TrailFilter{Letter: "0-2-0123abcd"}, 0},
		"feature":     {TrailFilter{Feature: "mill"}, 1},
		"source":      {TrailFilter{Source: "features/0/1"}, 1},
		"key":         {TrailFilter{Key: []byte("mill-key")}, 1},
		"other key":   {TrailFilter{Key: []byte("mill")}, 0},
		"somebody":    {TrailFilter{By: "bo"}, 0},
		"operations":  {TrailFilter{Decisions: []audit.Decision{audit.Operation}}, 3},
		"later":       {TrailFilter{Since: time.Now().Add(time.Hour)}, 0},
		"as a whole":  {TrailFilter{Since: start}, batchLetters + 33},
		"consumer's":  {TrailFilter{All: true, Decisions: []audit.Decision{audit.Retried}}, 1},
		"no operator": {TrailFilter{Decisions: []audit.Decision{audit.Retried}}, 0},
	} {
		got := count(c.filter)
		expect.That(t, got == c.want, "%s: %d events, want %d", name, got, c.want)
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

// The night of issue 18: somebody discards everything. Two had been discarded on purpose before; they stay.
func TestUndo_S4_6_reverses_one_operation_and_no_other(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.dieMany(8)
	w.change(Discard, deadletters.Filter{Limit: 2})
	mistake := w.change(Discard, deadletters.Filter{})
	must.That(t, mistake.Changed == 6, "%+v", mistake)
	r := w.undo(mistake.ID)
	expect.That(t, r.Selected == 6 && r.Changed == 6 && r.Left == 0 && strings.HasPrefix(r.ID, "undo-"), "%+v", r)
	got := w.statuses()
	expect.That(t, got[deadletters.Discarded] == 2 && got[deadletters.Pending] == 6, "after the undo: %v", got)
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
	must.That(t, r.Selected == 6 && r.Changed == 4 && r.Left == 2 && len(r.LeftBy) == 2, "%+v", r)
	for _, l := range r.LeftBy {
		expect.That(t, l.Count == 1 && strings.HasPrefix(l.Why, "it was changed since: it is "), "%+v", l)
	}
	s := w.states()
	expect.That(t, s["letter-1"].Status == deadletters.Discarded && s["letter-2"].Status == deadletters.Pending, "%+v", s)
	again := w.undo(mistake.ID)
	expect.That(t, again.Changed == 0 && again.Left == 6, "a second undo: %+v", again)
	n := len(w.operations())
	expect.That(t, n == 4, "%d operations in the audit topic, want the three changes and one undo", n)
}

func TestUndo_S4_6_takes_an_edit_back(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
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
	t.Parallel()
	w := newWorld(t)
	w.dieMany(3)
	s := w.service()
	w.execute(s, w.plan(s, deadletters.Filter{}))
	r := w.undo("r1")
	expect.That(t, r.Changed == 0 && r.Left == 3 && strings.Contains(r.LeftBy[0].Why, "cannot be called back"), "%+v", r)
	_, err := s.Undo(w.ctx(), "discard-20261103T040506Z-00000000", ana("x"), nil)
	expect.That(t, errors.Is(err, ErrNoOperation), "an operation that never was: %v", err)
	_, err = s.Undo(w.ctx(), "r1", ana(" "), nil)
	expect.That(t, errors.Is(err, ErrNoReason), "without a reason: %v", err)
}
