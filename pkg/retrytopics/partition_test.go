package retrytopics

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/kafka"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/offsets"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// clearing is a committer whose clear fails after a look at the session.
type clearing struct {
	kafka.Committer
	look func()
}

var errClear = errors.New("cannot clear")

func (c clearing) Clear(context.Context) error {
	c.look()
	return errClear
}

// While the turn after a rebalance is under way, its partitions have no memory yet: a bounded run does not end there.
func TestRunUntilEnd_S4_14_endsNotWithinARebalance(t *testing.T) {
	var settled []bool
	s := &session{told: true}
	look := func() { settled = append(settled, s.settled()) }
	s.committer = clearing{look: look}
	look()
	s.rebalanced = true
	look()
	_, err := s.afterRebalance(t.Context())
	must.That(t, errors.Is(err, errClear), "%v", err)
	look()
	for i, want := range []bool{true, false, false, false} {
		if settled[i] != want {
			t.Errorf("settled %v", settled)
			break
		}
	}
}

// S4-10: a gap is what lies between the position and the start of the log, without what a former owner has finished there. It is
// found once, by a fetch or by a look, and counts when the position has passed over it.
func TestLoss_S4_10_isWhatTheLogLacks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		committed int64
		restored  []offsets.Span
		began     int64 // where the log started at the first look; -1: not looked yet
		taken     []int64
		start     int64
		lost      []Loss
		next      int64
		passed    bool
	}{
		{"no gap", 10, nil, -1, nil, 10, nil, 10, false},
		{"a log that starts before the position", 10, nil, -1, nil, 4, nil, 10, false},
		{"a gap", 10, nil, -1, nil, 13, []Loss{{"t", 0, 10, 13, 3}}, 13, true},
		{"a gap with finished records", 10, []offsets.Span{{First: 11, Last: 11}, {First: 20, Last: 22}}, -1, nil, 21, []Loss{{"t", 0, 10, 21, 9}}, 21, true},
		{"only finished records are gone", 10, []offsets.Span{{First: 10, Last: 12}}, -1, nil, 13, nil, 13, false},
		{"behind taken records", 10, nil, -1, []int64{10, 11}, 15, []Loss{{"t", 0, 12, 15, 3}}, 10, false},
		{"no commit and a start that is not 0", -1, nil, -1, nil, 7, nil, -1, false},
		{"no commit, deleted since", -1, nil, 2, nil, 7, []Loss{{"t", 0, 2, 7, 5}}, 7, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := newInstance(must.Get(Config{Brokers: []string{"none"}, Source: "t", Group: "g", Membership: Membership{Instance: "i"}, Handler: nothing}.Complete())(t))
			s := offline(t.Context(), in, 4096)
			l := must.Get(newPartition(topicPartition{"t", 0}, sourceTier, newState(new(instance), 0), offsets.Commit{Offset: c.committed, Metadata: offsets.EncodeFinished(max(c.committed, 0), c.restored)}))(t)
			s.partitions[l.topicPartition] = l
			for _, at := range c.taken {
				l.window.Add(at)
			}
			l.began = c.began
			l.starts(c.start)
			s.skipGaps()
			expect.That(t, !s.skipGaps(), "the gap is found again")
			s.arrive(l, &kgo.FetchPartition{LogStartOffset: c.start, Records: []*kgo.Record{{Offset: c.start}}})
			expect.That(t, slices.Equal(s.losses, c.lost) && l.window.Next() == c.next, "losses %v at %d, want %v at %d", s.losses, l.window.Next(), c.lost, c.next)
			passed := s.passed()
			expect.That(t, (len(passed) > 0) == c.passed, "passed over %v", passed)
		})
	}
}

// S4-10: the fetch that crosses a gap tells of it, even when nobody has looked.
func TestLoss_S4_10_isSeenByTheFetch(t *testing.T) {
	t.Parallel()
	in := newInstance(must.Get(Config{Brokers: []string{"none"}, Source: "t", Group: "g", Membership: Membership{Instance: "i"}, Handler: nothing}.Complete())(t))
	s := offline(t.Context(), in, 4096)
	l := must.Get(newPartition(topicPartition{"t", 0}, sourceTier, newState(new(instance), 0), offsets.Commit{Offset: 5}))(t)
	for _, f := range []struct{ start, first int64 }{
		{0, 6},   // an offset without a record is no gap
		{9, 8},   // the start has moved on since the records were read
		{12, 30}, // nor are offsets without records behind the start
	} {
		s.arrive(l, &kgo.FetchPartition{LogStartOffset: f.start, Records: []*kgo.Record{{Offset: f.first}}})
		l.window.Add(f.first)
	}
	want := []Loss{{"t", 0, 7, 8, 1}, {"t", 0, 9, 12, 3}}
	expect.That(t, slices.Equal(s.losses, want), "got %v, want %v", s.losses, want)
}

// finished makes one attempt in a context and keeps its result as a session that ends does.
func finished(ctx context.Context, t *testing.T, handler Handler) *session {
	t.Helper()
	s := unconnected(t, Config{Handler: handler})
	s.takes(&kgo.Record{Topic: "in", Offset: 0, Key: []byte("k"), Value: []byte("v")})
	one := taskOf(s.sched.Next())
	w := s.in.attempts.newWorker(s.sched.Counts)
	held, undone := w.attempt(ctx, &one.task)
	must.That(t, held == nil && !undone, "the attempt does not count")
	s.keepResults([]*heldTask{one})
	return s
}

// S4-15: a handler that fails since its partition goes away has said nothing about the record. It must not cost an attempt later.
func TestResults_S4_15_aCancelledAttemptIsNotKept(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	s := finished(ctx, t, func(ctx context.Context, _ *Record) (Result, error) {
		cancel()
		<-ctx.Done()
		return Result{}, ctx.Err()
	})
	_, kept := s.in.results.pop(header.Position{Topic: "in", Partition: 0, Offset: 0})
	expect.That(t, !kept, "the cancelled attempt is kept as a failure")
}

// What a handler closed for the state of its key, or had no time for, is judged again. Everything else that it said is kept.
func TestResults_onlyWhatDoesNotDependOnTheKeyIsKept(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		result Result
		err    error
		kept   bool
	}{
		{"delivered", Result{}, nil, true},
		{"filtered", Result{Close: policy.OutcomeFiltered}, nil, true},
		{"failed", Result{}, errors.New("503"), true},
		{"ran out of time", Result{}, fmt.Errorf("get: %w", context.DeadlineExceeded), false},
		{"duplicate", Result{Close: policy.OutcomeDuplicate}, nil, false},
		{"superseded", Result{Close: policy.OutcomeSuperseded}, nil, false},
	} {
		s := finished(t.Context(), t, func(context.Context, *Record) (Result, error) { return c.result, c.err })
		_, kept := s.in.results.pop(header.Position{Topic: "in", Partition: 0, Offset: 0})
		expect.Equal(t, kept, c.kept, c.name)
	}
}

// counting is a committer that begins nothing, and counts who asked.
type counting struct {
	kafka.Committer

	begun int
}

var errNotBegun = errors.New("no transaction here")

func (c *counting) Begin() error {
	c.begun++
	return errNotBegun
}

// A transaction that carries nothing makes the client hold its lock for half a second, and the next one waits for it. So none is
// begun, though a position may have moved and was committed since.
func TestCommit_beginsNoTransactionThatCarriesNothing(t *testing.T) {
	t.Parallel()
	s, counted := unconnected(t, Config{Handler: nothing}), &counting{}
	s.committer, s.lazy = counted, true
	err := s.commit(t.Context())
	expect.That(t, err == nil && counted.begun == 0, "%d transactions begun (%v), want none", counted.begun, err)
	expect.That(t, !s.lazy, "the next turn tries again")
	s.partitions[topicPartition{"in", 0}].window.Pass(0) // the position moves
	err = s.commit(t.Context())
	expect.That(t, errors.Is(err, errNotBegun) && counted.begun == 1, "%d transactions begun (%v), want one", counted.begun, err)
}

// S4-15: a transaction that does not end leaves its records with the client, which reads their contexts until it is closed. What is
// kept for the next transaction are copies.
func TestSession_S4_15_salvagedOutputsAreCopies(t *testing.T) {
	t.Parallel()
	own := time.Unix(7, 0)
	for _, dated := range []bool{false, true} {
		sent := &kgo.Record{Topic: "out", Partition: 3, Key: []byte("k"), Value: []byte("v"), Context: t.Context(), Timestamp: own,
			Headers: []kgo.RecordHeader{{Key: "h"}}}
		finished := &heldTask{task: task{done: done{outputs: []*kgo.Record{sent, {Topic: "audit"}}, result: Result{Outputs: []*kgo.Record{sent}}, dated: dated}}}
		s := &session{}
		s.salvage([]*heldTask{finished})
		expect.That(t, sent.Context != nil && sent.Timestamp.Equal(own), "the client's record has changed: %+v", sent)
		kept := finished.outputs[0]
		expect.That(t, kept != sent && kept.Context == nil && kept.Timestamp.IsZero() != dated, "dated %t: kept %+v", dated, kept)
		expect.That(t, finished.result.Outputs[0] == kept, "the result still has the client's record")
		expect.That(t, kept.Topic == "out" && kept.Partition == 3 && string(kept.Key)+string(kept.Value) == "kv" && len(kept.Headers) == 1, "kept %+v", kept)
		expect.That(t, s.unfinished(), "nothing is left for the next transaction")
	}
}
