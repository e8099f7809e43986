package replay

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/replay/operation"
	"github.com/switchback-geo/switchback/internal/replay/plan"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/topiclog"
	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/statetopic"
)

// revision is a valid feature of which a property orders the events.
const revision = `{"type":"Feature","id":"%s","geometry":{"type":"Point","coordinates":[1,1]},"properties":{"rev":%d}}`

// versioned is a world in which the revision orders events, with the topics in which the consumer remembers them.
func versioned(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, kfake.SeedTopics(3, "features.state", "features.ledger"))
	w.cfg.Source.Version = "properties.rev"
	return w
}

// applied says, as the consumer does for keys with unsettled letters, what took effect last.
func (w *world) applied(id string, number, offset int64) {
	w.t.Helper()
	w.die(&kgo.Record{Topic: "features.state", Key: []byte("key of " + id), Value: fmt.Appendf(nil, `{"format":1,"dead_letters":1,"applied":[%d,%d]}`, number, offset)})
	w.dead--
}

// remembered says the same as the ledger does.
func (w *world) remembered(id string, number, offset int64, ago time.Duration) {
	w.t.Helper()
	change := idempotency.Change{
		Key:     idempotency.HashKey([]byte("key of " + id)),
		Applied: idempotency.Applied{Version: number, Offset: offset, At: start.Add(-ago)},
	}
	w.die(&kgo.Record{Topic: "features.ledger", Value: idempotency.AppendChanges(nil, []idempotency.Change{change})})
	w.dead--
}

// superseded are the letters of a plan that newer events have overtaken.
func (w *world) superseded(p *plan.Plan) map[string]bool {
	got := map[string]bool{}
	for _, l := range w.letters(p) {
		if l.Today.Superseded {
			got[l.ID] = true
		}
	}
	return got
}

// The consumer holds letters to the version field; so does the prediction, from what the consumer remembers.
func TestPlan_S4_8_predicts_by_the_version_field(t *testing.T) {
	t.Parallel()
	w := versioned(t)
	w.cfg.Source.NullKeys = config.NullKeysAccept
	var letters []*kgo.Record
	for _, id := range []string{"state", "older", "same", "ledger", "expired", "undone", "unknown", "deleted"} {
		letters = append(letters, letter(0, id, fmt.Sprintf(revision, id, 5)))
	}
	gone := letter(1, "delete", "")
	gone.Value = nil
	keyless := letter(1, "keyless", fmt.Sprintf(revision, "keyless", 5))
	keyless.Key = nil
	w.die(append(letters, gone, keyless)...)
	w.applied("state", 6, 10) // newer, though its offset is lower
	w.applied("older", 4, 90) // older, though its offset is higher
	w.applied("same", 5, 41)  // at equal versions the later offset wins
	w.applied("delete", 9, 39)
	w.remembered("ledger", 6, 10, time.Hour)
	w.remembered("expired", 6, 10, 25*time.Hour)
	w.die(&kgo.Record{Topic: "features.state", Key: []byte("key of deleted"), Value: []byte(`{"format":1,"dead_letters":1,"applied":[3,60],"deleted":61}`)})
	w.dead--
	w.applied("undone", 9, 50)
	w.die(&kgo.Record{Topic: "features.state", Key: []byte("key of undone")}) // nothing of the key waits or is dead any more
	_, p := w.planned()
	if want := map[string]bool{"state": true, "same": true, "ledger": true, "deleted": true}; !maps.Equal(w.superseded(p), want) || p.Doubt != "" {
		t.Errorf("superseded %v, want %v; doubt %q", w.superseded(p), want, p.Doubt)
	}
	got := p.Summary()
	expect.That(t, got.Superseded == 4 && got.Overwrites == 0 && got.WouldPass == 10, "%+v", got)
	w.cfg.Source.Version = "" // then offsets order events, and the ledger is not asked
	s := w.service()
	byOffset := w.superseded(w.plan(s, deadletters.Filter{}))
	expect.That(t, !byOffset["ledger"] && byOffset["older"], "by offset %v", byOffset)
}

func TestPlan_S4_8_predicts_by_offset_in_both_orders_that_guard(t *testing.T) {
	t.Parallel()
	for mode, want := range map[config.OrderingMode]int{config.OrderingLatestWins: 1, config.OrderingStrict: 1, config.OrderingNone: 0} {
		w := newWorld(t, kfake.SeedTopics(3, "features.state"))
		w.cfg.Ordering.Mode = mode
		w.die(letter(0, "old", fmt.Sprintf(square, "old")), letter(1, "new", fmt.Sprintf(square, "new")))
		w.applied("old", 0, 41) // letters have offset 40
		w.applied("new", 0, 39)
		expect.Equal(t, w.plan(w.service(), deadletters.Filter{}).Summary().Superseded, want, mode, "superseded")
	}
}

func TestPlan_S4_8_says_when_the_prediction_is_a_guess(t *testing.T) {
	w := parallel(t)
	w.dieMany(1)
	expect.Equal(t, w.plan(w.service(), deadletters.Filter{}).Doubt, "there is no topic features.state", "doubt")
	w = newWorld(t, kfake.SeedTopics(3, "features.state"))
	w.cfg.Source.Version = "properties.rev"
	w.dieMany(1)
	expect.Equal(t, w.plan(w.service(), deadletters.Filter{}).Doubt, "there is no topic features.ledger", "doubt")
	w.cfg.Dedupe.Window = 0 // then there is nothing in it, for the consumer either
	expect.Equal(t, w.plan(w.service(), deadletters.Filter{}).Doubt, "", "doubt")
	w.die(&kgo.Record{Topic: "features.state", Key: []byte("k"), Value: []byte(`{"format":99}`)})
	_, err := w.service().Plan(w.ctx(), deadletters.Filter{}, PlanOptions{})
	expect.That(t, errors.Is(err, statetopic.ErrNewer) && strings.Contains(err.Error(), "features.state/0/0"), "got %v", err)
}

// S4-8: a forced plan counts what it overwrites; its letters carry the flag, and the audit trail the reason.
func TestForce_S4_8_is_counted_carried_and_audited(t *testing.T) {
	t.Parallel()
	w := versioned(t)
	w.cfg.Source.NullKeys = config.NullKeysAccept
	keyless := letter(2, "keyless", fmt.Sprintf(revision, "keyless", 5))
	keyless.Key = nil
	w.die(letter(0, "old", fmt.Sprintf(revision, "old", 5)), letter(1, "fresh", fmt.Sprintf(revision, "fresh", 5)), keyless)
	w.applied("old", 6, 50)
	s := w.service()
	path := filepath.Join(t.TempDir(), "plan")
	p := must.Get(s.SavePlan(w.ctx(), deadletters.Filter{}, PlanOptions{ID: "r1", Force: "the newer survey is wrong"}, path))(t)
	got := p.Summary()
	expect.That(t, got.Overwrites == 1 && got.Superseded == 0 && got.WouldPass == 3, "%+v", got)
	p = must.Get(plan.Open(path))(t)
	must.That(t, p.Force == "the newer survey is wrong" && p.Summary().Overwrites == 1, "read again: %+v", p.Head)
	for _, o := range p.Outlook() {
		expect.That(t, !o.Overwrites || !o.Superseded && o.Example == "old", "%+v", o)
	}
	if _, err := s.Execute(w.ctx(), p, ExecuteOptions{Call: ana("agreed")}); !errors.Is(err, operation.ErrOptions) || len(w.sent()) > 0 {
		t.Errorf("applied without consent: %v, %v", err, w.sent())
	}
	must.Get(s.Execute(w.ctx(), p, ExecuteOptions{Call: ana("agreed"), ForceVersion: true}))(t)
	flags := map[string]string{}
	for _, r := range w.read("features") {
		id, _ := topiclog.Header(r, header.KeyDeadLetterID)
		flags[id], _ = topiclog.Header(r, header.KeyForceVersion)
	}
	want := map[string]string{"old": "true", "fresh": "true", "keyless": ""}
	expect.That(t, maps.Equal(flags, want), "flags %v, want %v", flags, want)
	op := w.operations()
	expect.That(t, len(op) == 1 && op[0].Force == "the newer survey is wrong" && op[0].Reason == "agreed" && strings.Contains(op[0].Message, "overwrite"), "operation %+v", op)
	for _, e := range w.events() {
		forced := e.DeadLetter != "keyless"
		expect.That(t, (e.Force != "") == forced && strings.Contains(e.Message, "forced") == forced, "event %+v", e)
	}
}

// Of several forced letters of one key the newest takes effect, in whatever order they died.
func TestForce_S4_8_of_one_key_the_newest_letter_wins(t *testing.T) {
	t.Parallel()
	w := versioned(t)
	var letters []*kgo.Record
	for _, rev := range []int{3, 5, 4} {
		id := fmt.Sprint("rev", rev)
		l := letter(0, id, fmt.Sprintf(revision, "p", rev))
		l.Key = []byte("key of p")
		letters = append(letters, l)
	}
	w.die(letters...)
	w.applied("p", 9, 50)
	p := w.planWith(w.service(), deadletters.Filter{}, PlanOptions{Force: "x"})
	forced := map[string]bool{}
	for _, l := range w.letters(p) {
		forced[l.ID] = l.Force
	}
	// The third goes back behind the second, which is newer: it is held to its version.
	want := map[string]bool{"rev3": true, "rev5": true, "rev4": false}
	expect.That(t, reflect.DeepEqual(forced, want), "forced %v, want %v", forced, want)
	got := p.Summary()
	expect.That(t, got.Overwrites == 2 && got.Superseded == 1, "%+v", got)
}

func TestForce_S4_8_is_refused_where_it_makes_no_sense(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kfake.SeedTopics(1, "elsewhere"))
	w.dieMany(1)
	s := w.service()
	for name, o := range map[string]PlanOptions{
		"another topic": {Force: "x", To: "elsewhere"}, "long reason": {Force: strings.Repeat("x", operation.MaxReason+1)}, "blank reason": {Force: " "},
	} {
		_, err := s.Plan(w.ctx(), deadletters.Filter{}, o)
		expect.That(t, errors.Is(err, operation.ErrOptions), "%s: %v", name, err)
	}
	forced := w.planWith(s, deadletters.Filter{}, PlanOptions{Force: "x"})
	_, err := s.Execute(w.ctx(), w.plan(s, deadletters.Filter{}), ExecuteOptions{Call: ana("x"), ForceVersion: true})
	expect.That(t, errors.Is(err, operation.ErrOptions), "a plan that is not forced: %v", err)
	w.cfg.Ordering.Mode = config.OrderingNone
	none := w.service()
	_, err = none.Plan(w.ctx(), deadletters.Filter{}, PlanOptions{Force: "x"})
	expect.That(t, errors.Is(err, operation.ErrOptions) && strings.Contains(err.Error(), "ordering.mode: none"), "no order, plan: %v", err)
	_, err = none.Execute(w.ctx(), forced, ExecuteOptions{Call: ana("x"), ForceVersion: true})
	expect.That(t, errors.Is(err, operation.ErrOptions), "no order, apply: %v", err)
	sent := w.sent()
	expect.That(t, len(sent) == 0, "put back: %v", sent)
}
