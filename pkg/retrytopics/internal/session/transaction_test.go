package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/instance"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/kafka"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/offsets"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/partition"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/schedule"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/topics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// clearing is a committer whose Clear calls look and fails.
type clearing struct {
	kafka.Committer
	look func()
}

var errClear = errors.New("cannot clear")

func (c clearing) Clear(context.Context) error {
	c.look()
	return errClear
}

// While the turn after a rebalance runs, its partitions have no memory yet. A bounded run does not end then.
func TestRunUntilEnd_S4_14_endsNotWithinARebalance(t *testing.T) {
	var settled []bool
	s := &Session{hasAssignment: true}
	look := func() { settled = append(settled, s.Settled()) }
	s.Committer = clearing{look: look}
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

// Between the assignment and the committed offsets, a turn sees no partitions. A bounded run does not end then: their
// memory may be lost.
func TestRunUntilEnd_S4_14_endsNotBeforeItsPartitionsBegin(t *testing.T) {
	t.Parallel()
	s := unconnected(t, retrytopics.Config{Handler: nothing})
	clear(s.partitions)
	clear(s.states)
	s.onAssignment(map[string][]int32{"in": {0}, "foreign": {3}})
	s.rebalanced = false // the turn is over
	expect.That(t, !s.Settled(), "settled before its partition begins")
	must.Do(t, s.start(partition.ID{Topic: "in", Partition: 0}, schedule.Source, offsets.Commit{Offset: 0}))
	expect.That(t, !s.Settled(), "settled before the memory is read")
	s.states[0].Restored = true
	expect.That(t, s.Settled(), "not settled")
}

// S4-10: a gap lies between the position and the start of the log, without the offsets that a former owner finished
// there. A fetch or housekeeping finds it once, and it counts when the position passes it.
func TestLoss_S4_10_isWhatTheLogLacks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		committed int64
		restored  []offsets.Span
		began     int64 // where the log started at the first look; -1: not known yet
		taken     []int64
		start     int64
		lost      []retrytopics.Loss
		next      int64
		passed    bool
	}{
		{"no gap", 10, nil, -1, nil, 10, nil, 10, false},
		{"a log that starts before the position", 10, nil, -1, nil, 4, nil, 10, false},
		{"a gap", 10, nil, -1, nil, 13, []retrytopics.Loss{{Topic: "t", Partition: 0, From: 10, To: 13, Records: 3}}, 13, true},
		{"a gap with finished records", 10, []offsets.Span{{First: 11, Last: 11}, {First: 20, Last: 22}}, -1, nil, 21, []retrytopics.Loss{{Topic: "t", Partition: 0, From: 10, To: 21, Records: 9}}, 21, true},
		{"only finished records are deleted", 10, []offsets.Span{{First: 10, Last: 12}}, -1, nil, 13, nil, 13, false},
		{"behind taken records", 10, nil, -1, []int64{10, 11}, 15, []retrytopics.Loss{{Topic: "t", Partition: 0, From: 12, To: 15, Records: 3}}, 10, false},
		{"no commit and a start that is not 0", -1, nil, -1, nil, 7, nil, -1, false},
		{"no commit, deleted since", -1, nil, 2, nil, 7, []retrytopics.Loss{{Topic: "t", Partition: 0, From: 2, To: 7, Records: 5}}, 7, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := instance.New(must.Get(retrytopics.Config{Brokers: []string{"none"}, Source: "t", Group: "g", Membership: retrytopics.Membership{Instance: "i"}, Handler: nothing}.Complete())(t))
			s := offline(t.Context(), in, 4096)
			l := must.Get(partition.New(partition.ID{Topic: "t", Partition: 0}, schedule.Source, partition.NewState(new(instance.Instance), 0), offsets.Commit{Offset: c.committed, Metadata: offsets.EncodeFinished(max(c.committed, 0), c.restored)}))(t)
			s.partitions[l.ID] = l
			for _, at := range c.taken {
				l.Window.Add(at)
			}
			l.Began = c.began
			l.Starts(c.start)
			s.skipGaps()
			expect.That(t, !s.skipGaps(), "the gap is found again")
			s.arrive(l, &kgo.FetchPartition{LogStartOffset: c.start, Records: []*kgo.Record{{Offset: c.start}}})
			expect.That(t, slices.Equal(s.losses, c.lost) && l.Window.Next() == c.next, "losses %v at %d, want %v at %d", s.losses, l.Window.Next(), c.lost, c.next)
			passed := s.passed()
			expect.That(t, (len(passed) > 0) == c.passed, "passed over %v", passed)
		})
	}
}

// S4-10: the fetch that crosses a gap reports it, even before housekeeping.
func TestLoss_S4_10_isSeenByTheFetch(t *testing.T) {
	t.Parallel()
	in := instance.New(must.Get(retrytopics.Config{Brokers: []string{"none"}, Source: "t", Group: "g", Membership: retrytopics.Membership{Instance: "i"}, Handler: nothing}.Complete())(t))
	s := offline(t.Context(), in, 4096)
	l := must.Get(partition.New(partition.ID{Topic: "t", Partition: 0}, schedule.Source, partition.NewState(new(instance.Instance), 0), offsets.Commit{Offset: 5}))(t)
	for _, f := range []struct{ start, first int64 }{
		{0, 6},   // an offset without a record is not a gap
		{9, 8},   // the log start has moved since the records were read
		{12, 30}, // offsets without records after the log start are not a gap
	} {
		s.arrive(l, &kgo.FetchPartition{LogStartOffset: f.start, Records: []*kgo.Record{{Offset: f.first}}})
		l.Window.Add(f.first)
	}
	want := []retrytopics.Loss{{Topic: "t", Partition: 0, From: 7, To: 8, Records: 1}, {Topic: "t", Partition: 0, From: 9, To: 12, Records: 3}}
	expect.That(t, slices.Equal(s.losses, want), "got %v, want %v", s.losses, want)
}

// finished makes one attempt in a context and keeps its result like an ending session.
func finished(ctx context.Context, t *testing.T, handler retrytopics.Handler) *Session {
	t.Helper()
	s := unconnected(t, retrytopics.Config{Handler: handler})
	s.takes(&kgo.Record{Topic: "in", Offset: 0, Key: []byte("k"), Value: []byte("v")})
	one := partition.TaskOf(s.Sched.Next())
	w := s.in.Attempts.NewWorker(s.Sched.Counts)
	held, undone := w.Attempt(ctx, &one.Task)
	must.That(t, held == nil && !undone, "the attempt does not count")
	s.keepResults([]*partition.Task{one})
	return s
}

// S4-15: a handler that fails because its partition was revoked reveals nothing about the record. The failure must
// not cost an attempt later.
func TestResults_S4_15_aCancelledAttemptIsNotKept(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	s := finished(ctx, t, func(ctx context.Context, _ *retrytopics.Record) (retrytopics.Result, error) {
		cancel()
		<-ctx.Done()
		return retrytopics.Result{}, ctx.Err()
	})
	_, kept := s.in.Results.Pop(header.Position{Topic: "in", Partition: 0, Offset: 0})
	expect.That(t, !kept, "the cancelled attempt is kept as a failure")
}

// An answer that depended on the state of the key, or came too late, is not kept. Every other answer is.
func TestResults_onlyWhatDoesNotDependOnTheKeyIsKept(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		result retrytopics.Result
		err    error
		kept   bool
	}{
		{"delivered", retrytopics.Result{}, nil, true},
		{"filtered", retrytopics.Result{Close: policy.OutcomeFiltered}, nil, true},
		{"failed", retrytopics.Result{}, errors.New("503"), true},
		{"ran out of time", retrytopics.Result{}, fmt.Errorf("get: %w", context.DeadlineExceeded), false},
		{"duplicate", retrytopics.Result{Close: policy.OutcomeDuplicate}, nil, false},
		{"superseded", retrytopics.Result{Close: policy.OutcomeSuperseded}, nil, false},
	} {
		s := finished(t.Context(), t, func(context.Context, *retrytopics.Record) (retrytopics.Result, error) { return c.result, c.err })
		_, kept := s.in.Results.Pop(header.Position{Topic: "in", Partition: 0, Offset: 0})
		expect.Equal(t, kept, c.kept, c.name)
	}
}

// counting is a committer that begins nothing and counts the calls.
type counting struct {
	kafka.Committer

	begun int
}

var errNotBegun = errors.New("no transaction here")

func (c *counting) Begin() error {
	c.begun++
	return errNotBegun
}

// An empty transaction would make the client hold its lock for half a second, and the next transaction waits for it.
// Therefore none begins, although a position may have moved and was committed since.
func TestCommit_beginsNoTransactionThatCarriesNothing(t *testing.T) {
	t.Parallel()
	s, counted := unconnected(t, retrytopics.Config{Handler: nothing}), &counting{}
	s.Committer, s.lazy = counted, true
	err := s.commit(t.Context())
	expect.That(t, err == nil && counted.begun == 0, "%d transactions begun (%v), want none", counted.begun, err)
	expect.That(t, !s.lazy, "the next turn tries again")
	s.partitions[partition.ID{Topic: "in", Partition: 0}].Window.Pass(0) // the position moves
	err = s.commit(t.Context())
	expect.That(t, errors.Is(err, errNotBegun) && counted.begun == 1, "%d transactions begun (%v), want one", counted.begun, err)
}

// breaking is a committer whose transactions do not end.
type breaking struct{ kafka.Committer }

var errBroken = errors.New("the broker is gone")

func (breaking) Begin() error { return nil }

func (breaking) End(context.Context, []kafka.CommitPoint, kgo.TransactionEndTry) (bool, error) {
	return false, errBroken
}

// S4-15: the content of a transaction that did not end is left for the next one, and its answers for the next
// session, so no handler runs again.
func TestCommit_S4_15_aTransactionThatDoesNotEndLeavesItsResults(t *testing.T) {
	t.Parallel()
	for name, journal := range map[string]retrytopics.Journal{
		"the end fails": {},
		"a record cannot be made": {HashChain: retrytopics.HashChain{HeadTopic: "in.heads", Extend: func(int32, []byte, []*retrytopics.Event) ([]*kgo.Record, []byte, error) {
			return nil, nil, errBroken
		}}},
	} {
		s := unconnected(t, retrytopics.Config{Handler: nothing, Journal: journal, Ordering: retrytopics.Ordering{Mode: retrytopics.OrderNone}})
		s.Committer, s.layout = breaking{kafka.Plain(disconnected(t))}, &topics.Layout{}
		s.takes(&kgo.Record{Topic: "in", Offset: 0, Key: []byte("k"), Value: []byte("v")})
		s.attempts(t)
		err := s.commit(t.Context())
		expect.That(t, errors.Is(err, errBroken) && s.unfinished(), "%s: %v; something is left: %t", name, err, s.unfinished())
		s.abandon()
		_, kept := s.in.Results.Pop(header.Position{Topic: "in", Partition: 0, Offset: 0})
		expect.That(t, kept, "%s: the answer is lost", name)
	}
}
