package replay

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/replay/operation"
	"github.com/switchback-geo/switchback/internal/replay/plan"
	"github.com/switchback-geo/switchback/internal/replay/ramp"
	"github.com/switchback-geo/switchback/internal/replay/states"
	"github.com/switchback-geo/switchback/internal/replay/transaction"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/topiclog"
	"github.com/switchback-geo/switchback/pkg/envelope"
	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

func TestExecute_C4_puts_the_original_back(t *testing.T) {
	w := parallel(t)
	dead := letter(2, "a", fmt.Sprintf(square, "a"))
	w.die(dead)
	s, p := w.planned()
	got := w.execute(s, p)
	result := Result{ReplayID: "r1", Attempted: 1, Reinjected: 1, Transactions: 1}
	expect.That(t, reflect.DeepEqual(got, result), "result %+v, want %+v", got, result)
	records := w.read("features")
	must.That(t, len(records) == 1, "%d records in the source topic", len(records))
	r := records[0]
	expect.That(t, r.Partition == 2 && string(r.Key) == "key of a" && string(r.Value) == string(dead.Value), "record %s", topiclog.Describe(r))
	expect.Do(t, s.keys.Verify(r), "its proof")
	var headers []string
	for _, h := range r.Headers {
		if h.Key != header.KeyReplayProof {
			headers = append(headers, h.Key+"="+string(h.Value))
		}
	}
	want := []string{
		"traceparent=00-1", "tag=one", "tag=two",
		"switchback-source=features/2/40", "switchback-source-timestamp=2026-11-03T02:05:06.000Z",
		"switchback-content-hash=" + idempotency.Of(dead.Value).String(), "switchback-dead-letter-id=a",
		"switchback-replay-id=r1", "switchback-replay-count=1",
		"switchback-lineage=stac:1", "switchback-care=C1", "switchback-sovereignty=S1",
	}
	expect.That(t, slices.Equal(headers, want), "headers\n got %q\nwant %q", headers, want)
	w.toldOf(p, s.user)
}

// toldOf fails unless the status topic and the audit trail tell of the letter a that was put back.
func (w *world) toldOf(p *plan.Plan, user string) {
	w.t.Helper()
	hash := idempotency.Of(fmt.Appendf(nil, square, "a")).String()
	state := deadletters.State{
		ID: "a", Status: deadletters.Replaying, Source: header.Position{Topic: "features", Partition: 2, Offset: 40},
		DLQ: header.Position{Topic: "features.dlq", Partition: 2}, Writer: deadletters.Operator, KeyHash: idempotency.HashKey([]byte("key of a")), ContentHash: hash, ReplayID: "r1",
		Reason: "fixed", By: "ana", At: start, Operation: "r1", Before: deadletters.Pending,
	}
	states := w.states()
	expect.That(w.t, reflect.DeepEqual(states, map[string]deadletters.State{"a": state}), "states %+v", states)
	status := slices.DeleteFunc(w.read("features.dlq-status"), func(r *kgo.Record) bool { return deadletters.IsChainHead(r.Key) })
	expect.That(w.t, status[0].Partition == 2, "the state lies in partition %d, the dead letter in 2", status[0].Partition)
	want := []audit.Event{{
		Time: start, Pipeline: "features", RunID: "r1", Source: "features/2/40", FeatureID: "a", ContentHash: hash,
		Decision: audit.Replayed, Reason: "fixed", Code: "geometry_invalid", Class: "row", Stage: "gate", Attempt: 1,
		Destination: "features", Message: "dead letter a: pending -> replaying by ana, replay 1 of this dead letter",
		DeadLetter: "a", By: "ana", Plan: p.Checksum, Before: hash, After: hash,
	}}
	got := w.events()
	want[0].User, want[0].Call = user, got[0].Call // each call has one of its own
	expect.That(w.t, reflect.DeepEqual(got, want) && got[0].Call != "", "audit\n got %+v\nwant %+v", got, want)
}

func TestExecute_C4_dedupes_by_content_hash(t *testing.T) {
	w := parallel(t)
	first := letter(0, "a", fmt.Sprintf(square, "same"))
	w.die(first, again(first, "b", 38), again(first, "c", 39))
	s := w.service()
	r := w.execute(s, w.plan(s, deadletters.Filter{}))
	expect.That(t, r.Reinjected == 1 && r.Duplicates == 2, "within one run: %+v", r)
	w.die(again(first, "late", 37)) // read before the others, dead after them
	r = w.execute(s, w.plan(s, deadletters.Filter{}))
	expect.That(t, r.Reinjected == 0 && r.Duplicates == 1, "in a later run: %+v", r)
	sent := w.sent()
	expect.That(t, len(sent) == 1, "put back: %v", sent)
	for id, state := range w.states() {
		want := deadletters.Duplicate
		if sent[id] == 1 {
			want = deadletters.Replaying
		}
		expect.That(t, state.Status == want, "%s is %s, want %s", id, state.Status, want)
	}
	changed := 0
	for _, e := range w.events() {
		if e.Decision == audit.StateChanged && strings.Contains(e.Reason, "same content as") {
			changed++
		}
	}
	expect.That(t, changed == 3, "%d state changes in the audit trail, want 3", changed)
}

// Features without an id of their own are told apart by the keys of their records, and may say the same.
func TestExecute_C4_features_of_other_keys_are_no_duplicates(t *testing.T) {
	w := parallel(t)
	same := fmt.Sprintf(square, "same")
	w.die(letter(0, "a", same), letter(0, "b", same))
	s := w.service()
	for _, id := range []string{"a", "b"} {
		r := w.execute(s, w.plan(s, deadletters.Filter{IDs: []string{id}}))
		expect.That(t, r.Reinjected == 1 && r.Duplicates == 0, "%s: %+v", id, r)
	}
	w.die(letter(1, "c", same), letter(1, "d", same))
	r := w.execute(s, w.plan(s, deadletters.Filter{}))
	expect.That(t, r.Reinjected == 2 && r.Duplicates == 0, "in one plan: %+v", r)
}

func TestExecute_looks_at_each_letter_again(t *testing.T) {
	t.Parallel()
	now := deadletters.State{ID: "a", At: start, By: "c"}
	again := now
	again.Status, again.ReprocessCount = deadletters.Pending, 1
	discarded := now
	discarded.Status = deadletters.Discarded
	for _, c := range []struct {
		name   string
		change func(w *world, p *plan.Plan)
		why    string
	}{
		{"discarded since the plan", func(w *world, _ *plan.Plan) { w.die(discarded.Record("features.dlq-status", 0)) }, "discarded"},
		{"replayed and dead again", func(w *world, _ *plan.Plan) { w.die(again.Record("features.dlq-status", 0)) }, "failed again"},
		{"state that cannot be read", func(w *world, _ *plan.Plan) {
			w.die(&kgo.Record{Topic: "features.dlq-status", Key: []byte("a"), Value: []byte(`{"id":"a","status":"new-word"}`)})
		}, "cannot be read"},
		{"another dead letter at its place", func(w *world, p *plan.Plan) {
			*p = *w.altered(p, func(l *plan.Line) { l.ContentHash = "sha256:0" })
		}, "another dead letter"},
		{"taken by retention", func(w *world, _ *plan.Plan) {
			must.Do(w.t, w.broker.DeleteRecords("features.dlq", 0, 1))
		}, "gone"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.die(letter(0, "a", fmt.Sprintf(square, "a")))
			s := w.service()
			plan := w.plan(s, deadletters.Filter{})
			c.change(w, plan)
			r := w.execute(s, plan)
			expect.That(t, r.Reinjected == 0 && len(r.Skipped) == 1 && strings.Contains(r.Skipped[0].Why, c.why), "%+v, want a skip that speaks of %q", r, c.why)
			w.sentOnce()
		})
	}
}

func TestExecute_leaves_what_could_do_harm(t *testing.T) {
	t.Parallel()
	foreign := controlOf(0, "a", "v")
	foreign.Source.Topic = "others"
	unknown := controlOf(0, "a", "v")
	unknown.HasSource = false
	for _, c := range []struct {
		name, why string
		control   header.Control
	}{
		{"dead letter of another partition", "comes from partition 1 of features but is in partition 0", controlOf(1, "a", "v")},
		{"dead letter of another source", "comes from topic others", foreign},
		{"first position not known", "overwrite newer data", unknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.die(&kgo.Record{Topic: "features.dlq", Key: []byte("k"), Value: []byte("v"), Headers: c.control.AppendTo(nil)})
			s := w.service()
			p := w.plan(s, deadletters.Filter{})
			got := w.letters(p)
			expect.That(t, len(got) == 1 && got[0].Do == plan.Leave && strings.Contains(got[0].Why, c.why), "plan %+v", got)
			r := w.execute(s, p)
			expect.That(t, r.Reinjected == 0 && len(r.Skipped) == 1, "%+v", r)
			w.sentOnce()
		})
	}
}

func TestExecute_refuses_to_act_without_a_reason_or_on_another_pipelines_plan(t *testing.T) {
	w := parallel(t)
	w.dieMany(1)
	s := w.service()
	plan := w.plan(s, deadletters.Filter{})
	_, err := s.Execute(w.ctx(), plan, ExecuteOptions{Call: ana("  ")})
	expect.That(t, errors.Is(err, operation.ErrNoReason), "no reason: %v", err)
	for _, o := range []ExecuteOptions{{Call: ana(strings.Repeat("x", operation.MaxReason+1))}, {Call: ana("\xff")}, {Call: ana("x"), Rate: -1}, {Call: ana("x"), Ramp: ramp.Ramp{Canary: -1}}} {
		_, err := s.Execute(w.ctx(), plan, o)
		expect.That(t, errors.Is(err, operation.ErrOptions), "%+v: %v", o, err)
	}
	_, err = s.Plan(w.ctx(), deadletters.Filter{}, PlanOptions{ID: "a b"})
	expect.That(t, errors.Is(err, operation.ErrOptions), "replay id with a blank: %v", err)
	_, err = s.Plan(w.ctx(), deadletters.Filter{Statuses: []deadletters.Status{"gone"}}, PlanOptions{})
	expect.That(t, err != nil, "an unknown status is accepted")
	plan.Source = "others"
	_, err = s.Execute(w.ctx(), plan, ExecuteOptions{Call: ana("x")})
	expect.That(t, err != nil, "a plan of another source topic is executed")
	w.sentOnce()
}

func TestExecute_canceled_stops_after_the_open_transaction_and_can_go_on(t *testing.T) {
	w := parallel(t)
	w.dieMany(2 * inBatch)
	s := w.service()
	plan := w.plan(s, deadletters.Filter{})
	ctx, cancel := context.WithCancel(w.ctx())
	w.onEndTxn(func(*kmsg.EndTxnRequest) { cancel() })
	r, err := s.Execute(ctx, plan, ExecuteOptions{Call: ana("fixed")})
	expect.That(t, errors.Is(err, context.Canceled), "error %v", err)
	sent := len(w.sent())
	expect.That(t, r.Transactions == 1 && r.Reinjected == inBatch && sent == inBatch, "%+v, %d put back", r, sent)
	r = w.execute(w.service(), plan)
	expect.That(t, r.Reinjected == inBatch && r.Already == inBatch, "went on with %+v", r)
	for id, n := range w.sent() {
		expect.That(t, n == 1, "%s was put back %d times", id, n)
	}
}

// foreign is a letter as Kafka Connect writes it, of the source topic of the tests.
func foreign(id, value string, more ...kgo.RecordHeader) *kgo.Record {
	headers := []kgo.RecordHeader{{Key: "tag", Value: []byte("one")}}
	for key, value := range map[string]string{"topic": "features", "partition": "1", "offset": "40", "connector.name": "sink", "exception.message": "boom"} {
		headers = append(headers, kgo.RecordHeader{Key: "__connect.errors." + key, Value: []byte(value)})
	}
	return &kgo.Record{
		Topic: "features.dlq", Partition: 1, Key: []byte("key of " + id), Value: []byte(value), Timestamp: start.Add(-time.Hour),
		Headers: append(append(headers, kgo.RecordHeader{Key: "tag", Value: []byte("two")}), more...),
	}
}

// S4-8: a letter of other software goes back as its producer sent it; what the pipeline file strips stays behind too, and
// the dry run looks at the letter without it.
func TestExecute_S4_8_headers_carried_by_the_rules(t *testing.T) {
	w := parallel(t)
	w.cfg.Source.Format = envelope.Auto
	w.cfg.Replayer.Headers.Strip = []string{"content-type"}
	w.die(foreign("a", fmt.Sprintf(square, "a"), kgo.RecordHeader{Key: "content-type", Value: []byte("application/avro")}))
	s, p := w.planned()
	expect.Equal(t, p.Summary().WouldPass, 1, "would pass, by headers that go along")
	expect.Equal(t, w.execute(s, p).Reinjected, 1, "put back")
	var got []string
	for _, h := range w.read("features")[0].Headers {
		if !header.IsControl(h.Key) {
			got = append(got, h.Key+"="+string(h.Value))
		}
	}
	expect.That(t, slices.Equal(got, []string{"tag=one", "tag=two"}), "went back with %q", got)
}

// A share group that copies no records leaves a pointer; sent as it is, it would be a tombstone.
func TestPlan_leaves_pointers_without_a_value(t *testing.T) {
	w := parallel(t)
	pointer := &kgo.Record{Topic: "features.dlq", Timestamp: start}
	for key, value := range map[string]string{"topic": "features", "partition": "0", "offset": "7", "group": "share-1"} {
		pointer.Headers = append(pointer.Headers, kgo.RecordHeader{Key: "__dlq.errors." + key, Value: []byte(value)})
	}
	w.die(pointer)
	got := w.letters(w.plan(w.service(), deadletters.Filter{}))
	expect.That(t, len(got) == 1 && got[0].Do == plan.Leave && strings.Contains(got[0].Why, "would delete the feature"), "%+v", got)
}

// A batch stays below the bytes of a transaction. The dead letter that does not fit begins the next batch, and an error of the reader ends
// the reading.
func TestPrepare_splitsByBytes(t *testing.T) {
	t.Parallel()
	large, broken := make([]byte, batchBytes/2+1), errors.New("broken")
	read := func(_ context.Context, fn func(candidate) error) error {
		for _, id := range []string{"a", "b", "c"} {
			if err := fn(candidate{letter: &deadletters.Letter{ID: id, Content: &deadletters.Content{Value: large}}}); err != nil {
				return err
			}
		}
		return broken
	}
	discards := &changing{stage: func(_ context.Context, _ *states.Table, l *deadletters.Letter) (decision, error) {
		return decision{staged: staged{Change: transaction.Change{Letter: l, Next: deadletters.State{ID: l.ID, Status: deadletters.Discarded}}}}, nil
	}}
	s := session{execution: &execution{task: discards}, states: states.NewTable(3), walk: startWalk(t.Context(), read)}
	defer s.walk.stop()
	for _, id := range []string{"a", "b"} {
		b := must.Get(s.prepare(t.Context(), limits{letters: 10}))(t)
		expect.That(t, len(b.staged) == 1 && b.staged[0].Letter.ID == id && !b.last, "want %s alone: %+v", id, b)
	}
	_, err := s.prepare(t.Context(), limits{letters: 10})
	expect.That(t, errors.Is(err, broken), "%v", err)
}
