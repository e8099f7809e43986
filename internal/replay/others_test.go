package replay

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/replay/operation"
	"github.com/switchback-geo/switchback/internal/replay/states"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/topiclog"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// spring is a record on which a listener of Spring Kafka failed, as Spring writes it: with all headers of the record, and
// its own behind them.
func spring(r *kgo.Record, at time.Time) *kgo.Record {
	own := []kgo.RecordHeader{
		{Key: "kafka_dlt-original-topic", Value: []byte(r.Topic)},
		{Key: "kafka_dlt-original-partition", Value: binary.BigEndian.AppendUint32(nil, uint32(r.Partition))},
		{Key: "kafka_dlt-original-offset", Value: binary.BigEndian.AppendUint64(nil, uint64(r.Offset))},
		{Key: "kafka_dlt-exception-fqcn", Value: []byte("java.lang.IllegalStateException")},
	}
	return &kgo.Record{Topic: "features.dlq", Partition: r.Partition, Key: r.Key, Value: r.Value, Headers: append(r.Headers, own...), Timestamp: at}
}

// theirs makes letters of Spring's, one in each partition, and gives their ids.
func (w *world) theirs() (ids []string) {
	w.t.Helper()
	for p := range int32(3) {
		id := fmt.Sprintf("dlq-%d-0", p)
		w.die(spring(&kgo.Record{Topic: "features", Partition: p, Offset: 7, Key: []byte(id), Value: fmt.Appendf(nil, square, id)}, start.Add(-time.Hour)))
		ids = append(ids, id)
	}
	return ids
}

// failsAgain lets Spring fail on the last record that a letter was put back as.
func (w *world) failsAgain(id string, at time.Time) {
	w.t.Helper()
	var last *kgo.Record
	for _, r := range w.read("features") {
		if of, _ := topiclog.Header(r, header.KeyDeadLetterID); of == id {
			last = r
		}
	}
	w.die(spring(last, at))
}

// report gives how a replay is, once in agreement with who has followed it since the first report.
func (w *world) report(s *Service, id string) states.Report {
	w.t.Helper()
	if w.followed == nil {
		w.followed = w.service().Overview()
	}
	r := must.Get(s.Status(w.ctx(), id))(w.t)
	followed, _, err := w.followed.Replay(w.ctx(), id, states.OutcomeQuery{})
	must.Do(w.t, err)
	if r.Unheard == 0 { // by the clock of the service
		expect.Equal(w.t, fmt.Sprint(followed.Counts, followed.Attempted, followed.Ended), fmt.Sprint(r.Counts, r.Attempted, r.Ended))
	}
	return r
}

// S4-8, C-4: what other software fails on again is pending with one more replay in its count, and escalated at the cap; of
// what it does not, nothing is claimed.
func TestOthers_S4_8_C4_the_loop_closes(t *testing.T) {
	w := parallel(t)
	ids := w.theirs()
	s := w.service()
	w.execute(s, w.plan(s, deadletters.Filter{}))
	r := w.report(s, "r1")
	expect.That(t, r.Attempted == 3 && r.UnderWay == 3 && r.Unheard == 0, "just put back: %+v", r)
	w.failsAgain(ids[0], start.Add(time.Second))
	w.failsAgain(ids[0], start.Add(2*time.Second)) // Spring may write a letter twice
	for range 2 {                                  // reading changes nothing
		r := w.report(w.service(), "r1")
		expect.That(t, r.Attempted == 3 && r.UnderWay == 2 && r.FailedAgain == 1 && r.Reprocessed == 0 && r.Reasons["failed again: IllegalStateException"] == 1, "one failed again: %+v", r)
	}
	for replay := 2; replay <= 3; replay++ {
		p := w.plan(s, deadletters.Filter{})
		planned := w.letters(p)
		must.That(t, len(planned) == 1 && planned[0].ID == ids[0] && planned[0].ReprocessCount == replay-1, "plan of replay %d: %+v", replay, planned)
		for range 2 { // the same plan twice
			w.execute(w.service(), p)
		}
		w.failsAgain(ids[0], start.Add(time.Duration(replay)*time.Minute))
	}
	sent := w.sent()
	expect.That(t, sent[ids[0]] == 3 && sent[ids[1]] == 1, "put back: %v", sent)
	r = w.report(s, "r3")
	expect.That(t, r.FailedAgain == 1 && r.Escalated == 1, "after the third replay: %+v", r)
	expect.Equal(t, w.plan(s, deadletters.Filter{}).Letters, 0, "an escalated dead letter is planned")
	reopened := w.change(Reopen, deadletters.Filter{})
	expect.That(t, reopened.Changed == 1, "reopened: %+v", reopened)
	if s := w.states()[ids[0]]; s.Status != deadletters.Pending || s.ReprocessCount != 3 || s.ReplayID != "r3" {
		t.Errorf("%+v", s)
	}
	expect.Equal(t, w.plan(s, deadletters.Filter{}).Letters, 1, "a reopened dead letter is pending")
}

// What nobody hears of is shown so after a while, and an operator ends the wait for it, with a reason. When it fails after
// that, it is pending again.
func TestOthers_S4_8_what_is_not_heard_of_is_ended_by_an_operator(t *testing.T) {
	w := parallel(t)
	ids := w.theirs()
	s := w.service()
	w.execute(s, w.plan(s, deadletters.Filter{}))
	late := must.Get(New(w.cfg, Options{Now: func() time.Time { return start.Add(2 * time.Hour) }, Index: inMemory()}))(t)
	t.Cleanup(late.Close)
	r := w.report(late, "r1")
	expect.That(t, r.Unheard == 3 && r.UnderWay == 0 && r.UnheardSince.Equal(start) && r.Reprocessed == 0, "two hours later: %+v", r)
	if r, err := late.Await(w.ctx(), "r1", nil); err != nil || r.Unheard != 3 { // it ends
		t.Errorf("awaited: %+v, %v", r, err)
	}
	if r := w.change(Discard, deadletters.Filter{}); r.Changed != 0 {
		t.Errorf("discarded without being named: %+v", r)
	}
	if r := w.change(Discard, deadletters.Filter{IDs: ids[:1]}); r.Changed != 1 {
		t.Errorf("discard: %+v", r)
	}
	if r := w.change(Reopen, deadletters.Filter{Statuses: []deadletters.Status{deadletters.Replaying}, Limit: 1}); r.Changed != 1 {
		t.Errorf("reopen: %+v", r)
	}
	r = w.report(late, "r1")
	expect.That(t, r.Ended == 2 && r.Unheard == 1 && r.FailedAgain == 0, "ended: %+v", r)
	w.failsAgain(ids[0], start.Add(time.Minute))
	r = w.report(late, "r1")
	expect.That(t, r.Ended == 1 && r.Unheard == 1 && r.FailedAgain == 1, "failed after all: %+v", r)
	expect.Equal(t, w.plan(s, deadletters.Filter{}).Letters, 2, "letters")
	if r := w.change(Discard, deadletters.Filter{IDs: ids[:1]}); r.Changed != 1 { // in view of its failure
		t.Errorf("discard: %+v", r)
	}
	r = w.report(late, "r1")
	expect.That(t, r.FailedAgain == 1 && r.Ended == 1, "given up: %+v", r)
	expect.Equal(t, w.plan(s, deadletters.Filter{}).Letters, 1, "letters")
	given := func(e audit.Event) bool {
		return e.DeadLetter == ids[0] && e.Reason == "because" && strings.Contains(e.Message, "pending -> discarded by ana")
	}
	events := w.events()
	expect.That(t, slices.ContainsFunc(events, given), "audit events %+v", events)
}

// A replay that waits hears of failures as they come, counts each once, whatever the pipeline's own consumer says of it, and
// does not wait for ever.
func TestOthers_S4_8_wait_ends_although_nobody_tells_of_success(t *testing.T) {
	w := parallel(t)
	w.cfg.DeadLetters.UnheardAfter = config.Duration(300 * time.Millisecond)
	ids := w.theirs()
	s := must.Get(New(w.cfg, Options{Index: inMemory()}))(t)
	t.Cleanup(s.Close)
	told := false
	r, err := s.Execute(w.ctx(), w.plan(s, deadletters.Filter{}), ExecuteOptions{Call: ana("fixed"), Wait: true, Progress: func(p Progress) {
		if p.Phase == Waiting && !told {
			told = true
			for _, status := range []deadletters.Status{deadletters.Reprocessed, deadletters.Duplicate} {
				w.die(deadletters.State{ID: ids[0], Status: status, ReplayID: "r1", ReprocessCount: 1, At: time.Now(), By: "consumer c"}.Record("features.dlq-status", 0))
			}
			w.failsAgain(ids[0], time.Now())
		}
	}})
	expect.That(t, err == nil && r.Outcome != nil && r.Outcome.FailedAgain == 1 && r.Outcome.Reprocessed+r.Outcome.Closed == 0 && r.Outcome.UnderWay == 2, "%+v, %+v, %v", r, r.Outcome, err)
}

// A letter that the consumer finished and other software failed on is not resolved: pruning leaves it.
func TestOthers_S4_7_what_failed_again_is_not_pruned(t *testing.T) {
	w := parallel(t)
	ids := w.theirs()
	s := w.service()
	w.execute(s, w.plan(s, deadletters.Filter{}))
	w.failsAgain(ids[0], start)
	for p, id := range ids {
		w.die(deadletters.State{ID: id, Status: deadletters.Reprocessed, ReplayID: "r1", ReprocessCount: 1, At: start.AddDate(0, 0, -40), By: "consumer c"}.Record("features.dlq-status", int32(p)))
	}
	r, err := s.PreviewPrune(w.ctx(), start.AddDate(0, 0, -30))
	expect.That(t, err == nil && r.Letters == 2, "%d dead letters would be pruned, want the two that did not fail: %+v, %v", r.Letters, r, err)
}

// No topic of the pipeline takes dead letters as they are: its readers would take them for their own records.
func TestReplay_C4_toRefusesThePipelinesOwnTopics(t *testing.T) {
	w := parallel(t)
	w.dieMany(1)
	s := w.service()
	for _, to := range []string{
		"features", "features.out", "features.dlq", "features.state", "features.ledger", "features.audit", "features.dlq-status", "features.control",
		"features.governance", "features.retry-2s", "features.retry-8s", "features.retry-60s", "features.retry-1h", "features.retry-1500ms",
	} {
		_, err := s.Plan(w.ctx(), deadletters.Filter{}, PlanOptions{ID: "r1", To: to})
		expect.That(t, errors.Is(err, operation.ErrOptions) && strings.Contains(err.Error(), "belongs to this pipeline ("), "%s: %v", to, err)
	}
	_, err := s.Plan(w.ctx(), deadletters.Filter{}, PlanOptions{ID: "r1", To: "__consumer_offsets"})
	expect.That(t, errors.Is(err, operation.ErrOptions), "a topic of Kafka's own: %v", err)
	roads := []string{"roads.state", "roads.ledger", "roads.audit", "roads.dlq-status", "roads.governance", "roads.control", "roads.retry-2s"}
	free := []string{"roads", "lone.state", "roads.retry-none"}
	must.Get(w.log.Admin().CreateTopics(w.ctx(), 1, 1, nil, append(free, roads...)...))(t)
	for _, to := range append(free, roads...) {
		_, err := s.Plan(w.ctx(), deadletters.Filter{}, PlanOptions{ID: "r1", To: to})
		kept := slices.Contains(roads, to)
		expect.That(t, errors.Is(err, operation.ErrOptions) == kept && (!kept || strings.Contains(err.Error(), to+" belongs to the pipeline of roads")), "%s: %v", to, err)
	}
}
