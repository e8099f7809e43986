package replay

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/replay/operation"
	"github.com/switchback-geo/switchback/internal/replay/plan"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// Places far apart, in several partitions, at the ends, and of records that are gone are all visited, each once and in order.
func TestLettersAt_S4_8_visitsEachPlaceOnce(t *testing.T) {
	w := parallel(t)
	const many = wideGap + 500 // in partition 0
	for i := range many {
		w.writer.Produce(w.ctx(), letter(0, fmt.Sprintf("0-%d-aaaaaaaa", i), "v"), nil)
	}
	must.Do(t, w.writer.Flush(w.ctx()))
	w.die(letter(2, "2-0-aaaaaaaa", "v"), letter(2, "2-1-aaaaaaaa", "v"))
	var offsets kadm.Offsets
	offsets.AddOffset("features.dlq", 0, 3, -1)
	must.Get(kadm.NewClient(w.writer).DeleteRecords(w.ctx(), offsets))(t)
	places := []deadletters.Place{{Offset: 1}, {Offset: 3}, {Offset: 4}, {Offset: many - 2}, {Offset: many - 1}, {Partition: 2, Offset: 1}}
	want := []string{"gone", "0-3-aaaaaaaa", "0-4-aaaaaaaa", fmt.Sprintf("0-%d-aaaaaaaa", many-2), fmt.Sprintf("0-%d-aaaaaaaa", many-1), "2-1-aaaaaaaa"}
	var got []string
	s := w.service()
	err := s.readEach(w.ctx(), places, func(n int, l *deadletters.Letter) error {
		id := "gone"
		if l != nil {
			id = l.ID
		}
		expect.That(t, n == len(got), "place %d comes as number %d", n, len(got))
		got = append(got, id)
		return nil
	})
	expect.That(t, err == nil && slices.Equal(got, want), "%v\nwant %v, %v", got, want, err)
	// A plan can name a partition that there is not.
	visited := 0
	nowhere := func(yield func(deadletters.Place, error) bool) {
		yield(deadletters.Place{Partition: 9, Offset: 0}, nil)
	}
	err = s.readAt(w.ctx(), map[int32]kafka.Span{}, nowhere, func(l *deadletters.Letter) error {
		visited++
		return nil
	})
	expect.That(t, err == nil && visited == 1, "visited %d, %v", visited, err)
}

// undecided begins a transaction of somebody else, a consumer say, with a record in one partition, and gives what commits it.
func (w *world) undecided(r *kgo.Record) (commit func()) {
	w.t.Helper()
	client := must.Get(kgo.NewClient(kgo.SeedBrokers(w.broker.ListenAddrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.TransactionalID("somebody")))(w.t)
	w.t.Cleanup(client.Close)
	must.Do(w.t, client.BeginTransaction())
	must.Do(w.t, client.ProduceSync(w.ctx(), r).FirstErr())
	return func() {
		expect.Do(w.t, client.EndTransaction(w.ctx(), kgo.TryCommit))
	}
}

// secondLook runs fn once, when the end of what is decided in a topic is asked for the second time from now on.
func (w *world) secondLook(topic string, fn func()) {
	var looks atomic.Int32
	w.broker.ControlKey(int16(kmsg.ListOffsets), func(req kmsg.Request) (kmsg.Response, error, bool) {
		w.broker.KeepControl()
		asked := req.(*kmsg.ListOffsetsRequest)
		if asked.IsolationLevel == 1 && asked.Topics[0].Topic == topic && looks.Add(1) == 2 {
			go fn()
		}
		return nil, nil, false
	})
}

// What an earlier replayer committed can lie behind the open transaction of a consumer, where a reader of what is
// committed does not see it yet.
func TestExecute_C4_what_an_open_transaction_hides_is_not_put_back_again(t *testing.T) {
	w := parallel(t)
	w.die(letter(0, "a", square))
	p := w.plan(w.service(), deadletters.Filter{})
	commit := w.undecided(deadletters.State{ID: "another", Status: deadletters.Reprocessed, At: start, By: "c"}.Record("features.dlq-status", 0))
	w.die(deadletters.State{ID: "a", Status: deadletters.Replaying, At: start, By: "bo"}.Record("features.dlq-status", 0))
	w.secondLook("features.dlq-status", commit)
	r := w.execute(w.service(), p)
	expect.That(t, r.Reinjected == 0 && r.Left == 1, "%+v", r)
	w.sentOnce()
}

func TestVerify_S0_11_what_an_open_transaction_hides_is_not_missing(t *testing.T) {
	w := parallel(t)
	w.die(letter(0, "a", square))
	commit := w.undecided(&kgo.Record{Topic: "features.audit", Value: []byte(`{}`)})
	w.change(Discard, deadletters.Filter{})
	w.secondLook("features.audit", commit)
	for _, r := range w.verify() {
		expect.That(t, r.Fault == "", "%+v", r)
	}
}

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
	w := parallel(t)
	w.dieMany(4)
	w.supersede("letter-0", "letter-1")
	w.change(Discard, deadletters.Filter{IDs: []string{"letter-2"}})
	r := w.change(Reopen, deadletters.Filter{})
	expect.That(t, r.Changed == 1 && r.Overtaken == nil, "without a word about superseded dead letters: %+v", r)
	r = w.change(Reopen, deadletters.Filter{IDs: []string{"letter-0", "letter-3"}})
	expect.That(t, r.Changed == 1 && slices.Equal(r.Overtaken, []string{"letter-0"}) && r.Left == 1 && strings.Contains(r.Skipped[0].Why, "reopen changes dead letters that are discarded or escalated or superseded"), "by id: %+v", r)
	r = w.change(Reopen, deadletters.Filter{Statuses: []deadletters.Status{deadletters.Superseded}})
	expect.That(t, r.Changed == 1 && slices.Equal(r.Overtaken, []string{"letter-1"}), "by status: %+v", r)
	for _, id := range []string{"letter-0", "letter-1"} {
		s := w.states()[id]
		expect.That(t, s.Status == deadletters.Pending && s.ReprocessCount == 1 && s.Reason == "because" && s.By == "ana" && s.DLQ.Topic != "", "%s: %+v", id, s)
	}
	events := w.events()
	last := events[len(events)-1]
	expect.That(t, last.DeadLetter != "" && strings.Contains(last.Message, "superseded -> pending by ana") && last.Reason == "because", "audit event %+v", last)
}

// S4-8: what an operator decides after the consumer has closed a letter does not make a failure of its replay.
func TestStatus_S4_8_aReopenedLetterDidNotFailAgain(t *testing.T) {
	w := parallel(t)
	w.dieMany(2)
	w.supersede("letter-0", "letter-1")
	w.change(Reopen, deadletters.Filter{IDs: []string{"letter-0"}})
	w.change(Discard, deadletters.Filter{IDs: []string{"letter-0"}})
	r := w.report(w.service(), "r0")
	expect.That(t, r.Attempted == 2 && r.Closed == 2 && r.FailedAgain == 0, "%+v", r)
}

// What a plan says of a superseded letter is what to do about it.
func TestPlan_S4_8_says_of_superseded_letters_what_to_do(t *testing.T) {
	w := parallel(t)
	w.dieMany(3)
	w.supersede("letter-0", "letter-1")
	s := w.service()
	p := w.plan(s, deadletters.Filter{IDs: []string{"letter-0", "letter-2"}})
	got := p.Summary()
	expect.That(t, got.Overtaken == 1 && got.Left == 1 && got.Reinject == 1 && p.Overtaken == 0, "%+v, passed over %d", got, p.Overtaken)
	for _, l := range w.letters(p) {
		expect.That(t, l.ID != "letter-0" || l.Overtaken && l.Do == plan.Leave && strings.Contains(l.Why, "use replayer reopen, then plan it with --force-version"), "%+v", l)
	}
	p = w.plan(s, deadletters.Filter{})
	expect.That(t, p.Letters == 1 && p.Overtaken == 2, "of all: %d dead letters, passed over %d", p.Letters, p.Overtaken)
	p = w.plan(s, deadletters.Filter{Features: []string{"letter-1"}})
	expect.That(t, p.Letters == 0 && p.Overtaken == 1, "of one: %d dead letters, passed over %d", p.Letters, p.Overtaken)
	forced, err := s.Plan(w.ctx(), deadletters.Filter{IDs: []string{"letter-0"}}, PlanOptions{Force: "x"})
	if err != nil || forced.Summary().Reinject != 0 { // there is one way: reopen first
		t.Errorf("forced without being reopened: %+v, %v", forced.Summary(), err)
	}
}

// lostWorld has dead letters that were put back, and whose records were deleted from the source before anybody read them.
func lostWorld(t *testing.T, n int) (*world, *kadm.Client) {
	t.Helper()
	w := newWorld(t)
	admin := kadm.NewClient(w.writer)
	must.Get(admin.CreateTopics(w.ctx(), 3, 1, nil, w.cfg.TierTopics()...))(t)
	w.dieMany(n)
	w.execute(w.service(), w.plan(w.service(), deadletters.Filter{}))
	w.wantReopening(ErrReplaysMayWait, "features: ")
	w.deleteSource(admin)
	return w, admin
}

// deleteSource deletes what the source holds, as its retention does.
func (w *world) deleteSource(admin *kadm.Client) {
	w.t.Helper()
	ends := must.Get(admin.ListEndOffsets(w.ctx(), "features"))(w.t)
	deleted, err := admin.DeleteRecords(w.ctx(), ends.Offsets())
	must.That(w.t, err == nil && deleted.Error() == nil, "%v, %v", err, deleted.Error())
}

// wantReopening fails unless lost replays cannot be reopened, for that reason.
func (w *world) wantReopening(wanted error, words string) {
	w.t.Helper()
	r, err := w.service().ReopenLost(w.ctx(), deadletters.Filter{}, ana("the source was deleted"), nil)
	expect.That(w.t, errors.Is(err, wanted) && strings.Contains(err.Error(), words) && r.Changed <= 0, "%+v, %v; want %v with %q", r, err, wanted, words)
}

func (w *world) wantStatuses(want map[deadletters.Status]int) {
	w.t.Helper()
	got := map[deadletters.Status]int{}
	for _, s := range w.states() {
		got[s.Status]++
	}
	expect.That(w.t, maps.Equal(got, want), "statuses %v, want %v", got, want)
}

// What waits for its retry may be the replay, and so may what lies in, or behind, a transaction that is still open.
func TestReopenLost_S4_8_nothingWhileARecordMayWait(t *testing.T) {
	t.Parallel()
	w, admin := lostWorld(t, 1)
	tier := w.cfg.TierTopics()[0]
	w.die(&kgo.Record{Topic: tier, Partition: 1, Value: []byte("waits")})
	w.wantReopening(ErrReplaysMayWait, tier+": 1")
	committed := kadm.Offsets{}
	committed.AddOffset(tier, 1, 1, -1)
	must.Do(t, admin.CommitAllOffsets(w.ctx(), w.cfg.Source.Group, committed))

	open := must.Get(kgo.NewClient(kgo.SeedBrokers(w.broker.ListenAddrs()...), kgo.TransactionalID("open")))(t)
	t.Cleanup(open.Close)
	must.Do(t, open.BeginTransaction())
	must.Do(t, open.ProduceSync(w.ctx(), &kgo.Record{Topic: "features", Value: []byte("in a transaction")}).FirstErr())
	w.wantReopening(ErrReplaysMayWait, "features: 1")
	must.Do(t, open.EndTransaction(w.ctx(), kgo.TryAbort))
	w.deleteSource(admin)
	must.Get(w.service().ReopenLost(w.ctx(), deadletters.Filter{}, ana("x"), nil))(t)
	w.wantStatuses(map[deadletters.Status]int{deadletters.Pending: 1})
}

// What has another state by the time it would be changed is left, also where it is replaying again.
func TestReopenLost_S4_8_notWhatWasReplayedMeanwhile(t *testing.T) {
	t.Parallel()
	w, _ := lostWorld(t, 3)
	states := w.states()
	ids := slices.Sorted(maps.Keys(states))
	meanwhile := func(int) error {
		done, again := states[ids[0]], states[ids[1]]
		done.Status, again.ReplayID = deadletters.Reprocessed, "another"
		w.die(done.Record("features.dlq-status", done.DLQ.Partition), again.Record("features.dlq-status", again.DLQ.Partition))
		return nil
	}
	r, err := w.service().ReopenLost(w.ctx(), deadletters.Filter{}, ana("the source was deleted"), meanwhile)
	must.That(t, err == nil && r.Changed == 1 && r.Left == 2, "%+v, %v", r, err)
	w.wantStatuses(map[deadletters.Status]int{deadletters.Reprocessed: 1, deadletters.Replaying: 1, deadletters.Pending: 1})
}

// Only what is replaying can be lost, and other software says nothing of what it has processed.
func TestReopenLost_S4_8_onlyWhatThePipelineHas(t *testing.T) {
	t.Parallel()
	w, _ := lostWorld(t, 1)
	_, err := w.service().ReopenLost(w.ctx(), deadletters.Filter{Statuses: []deadletters.Status{deadletters.Pending}}, ana("x"), nil)
	expect.That(t, errors.Is(err, operation.ErrOptions) && strings.Contains(err.Error(), "pending"), "a filter for pending dead letters: %v", err)
	w.die(&kgo.Record{Topic: "features.dlq", Partition: 2, Key: []byte("k"), Value: []byte("of other software")})
	w.die(deadletters.State{ID: "dlq-2-0", Status: deadletters.Replaying, At: start, By: "bo"}.Record("features.dlq-status", 2))
	r, err := w.service().ReopenLost(w.ctx(), deadletters.Filter{IDs: []string{"dlq-2-0"}}, ana("x"), nil)
	expect.That(t, err == nil && r.Changed == 0 && r.Left == 1 && strings.Contains(r.Skipped[0].Why, "other software"), "%+v, %v", r, err)
	w.change(Reopen, deadletters.Filter{})
	expect.That(t, w.states()["letter-0"].Status == deadletters.Replaying, "a plain reopen takes back what is replaying")
}
