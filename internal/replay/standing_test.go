package replay

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

func TestStanding_C4_forgets_what_no_longer_holds(t *testing.T) {
	t.Parallel()
	s := newStanding(3, "")
	state := func(id string, status deadletters.Status) deadletters.State {
		return deadletters.State{
			ID: id, Status: status, ContentHash: "sha256:00", KeyHash: idempotency.HashKey([]byte("k")),
			Source: header.Position{Topic: "features", Partition: 2, Offset: 40},
		}
	}
	set := func(id string, status deadletters.Status) { s.set(state(id, status)) }
	of := state("", "")
	same, _ := contentOfState(&of)
	holds := func(when, want string) {
		t.Helper()
		id, ok := s.holder(same, 40)
		expect.That(t, ok == (want != "") && (!ok || id == want), "%s: holder %q %v, want %q", when, id, ok, want)
	}
	set("a", deadletters.Replaying)
	set("b", deadletters.Duplicate)
	holds("put back", "a")
	set("a", deadletters.Pending)
	holds("failed again", "")
	set("b", deadletters.Reprocessed)
	set("a", deadletters.Discarded)
	holds("another one", "b")
	s.add(&deadletters.StateRecord{ID: "b", Removed: true})
	holds("pruned", "")
	long := strings.Repeat("long", 100)
	set(long, deadletters.Replaying)
	holds("a long id", long)
	set(long, deadletters.Pending)
	holds("a long id failed again", "")
}

// Of letters of one content, the one that was first read last holds it, for those that were read before.
func TestStanding_C4_a_letter_stands_for_what_came_before_it(t *testing.T) {
	t.Parallel()
	full := deadletters.State{
		ID: "at-40", Status: deadletters.Reprocessed, ContentHash: "sha256:00", KeyHash: idempotency.HashKey([]byte("k")),
		Source: header.Position{Topic: "features", Partition: 2, Offset: 40},
	}
	later := full
	later.ID, later.Source.Offset = "at-50", 50
	same, _ := contentOfState(&full)
	s := newStanding(3, "")
	for _, state := range []deadletters.State{full, later, full} {
		s.set(state)
	}
	for offset, want := range map[int64]string{39: "at-50", 40: "at-50", 50: "at-50", 51: ""} {
		id, ok := s.holder(same, offset)
		expect.That(t, ok == (want != "") && (!ok || id == want), "first read at %d: holder %q %v, want %q", offset, id, ok, want)
	}
	for name, change := range map[string]func(*deadletters.State){
		"another content":   func(s *deadletters.State) { s.ContentHash = "sha256:01" },
		"another key":       func(s *deadletters.State) { s.KeyHash = idempotency.HashKey([]byte("other")) },
		"another partition": func(s *deadletters.State) { s.Source.Partition = 3 },
	} {
		other := full
		change(&other)
		key, ok := contentOfState(&other)
		_, held := s.holder(key, 1)
		expect.That(t, ok && !held, "%s: held", name)
	}
	for name, change := range map[string]func(*deadletters.State){
		"no content": func(s *deadletters.State) { s.ContentHash = "" },
		"no key":     func(s *deadletters.State) { s.KeyHash = idempotency.KeyHash{} },
		"no place":   func(s *deadletters.State) { s.Source = header.Position{} },
	} {
		other := full
		change(&other)
		_, ok := contentOfState(&other)
		expect.That(t, !ok, "%s: compared with others", name)
	}
}

// Places far apart, in several partitions, at the ends, and of records that are gone are all visited, each once and in order.
func TestLettersAt_S4_8_visitsEachPlaceOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const many = wideGap + 500 // in partition 0
	for i := range many {
		w.writer.Produce(w.ctx(), letter(0, fmt.Sprintf("0-%d-aaaaaaaa", i), "v"), nil)
	}
	must.Do(t, w.writer.Flush(w.ctx()))
	w.die(letter(2, "2-0-aaaaaaaa", "v"), letter(2, "2-1-aaaaaaaa", "v"))
	var offsets kadm.Offsets
	offsets.AddOffset("features.dlq", 0, 3, -1)
	must.Get(kadm.NewClient(w.writer).DeleteRecords(w.ctx(), offsets))(t)
	places := []dlqPlace{{1, 0}, {3, 0}, {4, 0}, {many - 2, 0}, {many - 1, 0}, {1, 2}}
	want := []string{"gone", "0-3-aaaaaaaa", "0-4-aaaaaaaa", fmt.Sprintf("0-%d-aaaaaaaa", many-2), fmt.Sprintf("0-%d-aaaaaaaa", many-1), "2-1-aaaaaaaa"}
	var got []string
	s := w.service()
	err := s.letters(w.ctx(), places, func(n int, l *deadletters.Letter) error {
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
	next := func() (dlqPlace, bool, error) { return dlqPlace{0, 9}, visited == 0, nil }
	err = s.lettersAt(w.ctx(), map[int32]kafka.Span{}, next, func(l *deadletters.Letter) error {
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
		err := client.EndTransaction(w.ctx(), kgo.TryCommit)
		expect.That(w.t, err == nil, "%v", err)
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
	t.Parallel()
	w := newWorld(t)
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
	t.Parallel()
	w := newWorld(t)
	w.die(letter(0, "a", square))
	commit := w.undecided(&kgo.Record{Topic: "features.audit", Value: []byte(`{}`)})
	w.change(Discard, deadletters.Filter{})
	w.secondLook("features.audit", commit)
	for _, r := range w.verify() {
		expect.That(t, r.Fault == "", "%+v", r)
	}
}
