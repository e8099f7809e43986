package session

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/keyorder"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/attempt"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/instance"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/kafka"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/memory"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/offsets"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/partition"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/schedule"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// Of several revocations between two transactions the client reports only the first. A partition that was paused then is
// fetched again when it comes back: a pause would outlive the assignment.
func TestSession_aPausedPartitionThatWentUntoldIsNotPausedWhenItComesBack(t *testing.T) {
	t.Parallel()
	client := disconnected(t)
	s := unconnected(t, retrytopics.Config{Handler: nothing})
	s.Committer = kafka.Plain(client)
	tp := partition.ID{Topic: "in", Partition: 0}
	s.partitions[tp].Held = 1 << 20
	s.balance(true)
	paused := client.PauseFetchPartitions(nil)
	must.That(t, len(paused["in"]) == 1, "paused %v", paused)
	s.reconcile() // nothing is assigned any more
	paused = client.PauseFetchPartitions(nil)
	expect.That(t, len(s.partitions) == 0 && len(paused) == 0, "paused %v, %d partitions are left", paused, len(s.partitions))
}

// The records that one poll returns are bounded by the room that is left, even while the source is paused or nothing is
// assigned yet.
func TestSession_aPollTakesWhatThePartitionsMayStillHold(t *testing.T) {
	t.Parallel()
	s := unconnected(t, retrytopics.Config{Handler: nothing, Limits: retrytopics.Limits{HeldRecords: 2000}, Retries: retrytopics.Retries{Tiers: []policy.Tier{{Topic: "in.retry", Delay: time.Second}}}})
	source := s.partitions[partition.ID{Topic: "in", Partition: 0}]
	tier := s.partitions[partition.ID{Topic: "in.retry", Partition: 0}]
	for _, c := range []struct {
		name               string
		source, tier, want int
		paused             bool
	}{
		{"nothing held", 0, 0, 1000, false},
		{"some", 600, 0, 400, false},
		{"hardly room", 900, 0, 0, false},
		{"only the tier sends", 1000, 700, 300, true},
		{"only the tier sends, and is full", 1000, 1200, minPoll, true},
	} {
		source.Held, source.Paused, tier.Held = c.source, c.paused, c.tier
		expect.Equal(t, s.room(), c.want, c.name)
	}
	clear(s.partitions)
	expect.Equal(t, s.room(), minPoll, "nothing is assigned")
}

// S4-15: the results of an aborted transaction may be lost with their partitions. Then there is nothing to commit
// that could show whether the problem is over. One attempt at a time shows it: an engine that began none would be
// blocked forever.
func TestSession_S4_15_oneAttemptShowsWhetherTheTroubleIsOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := unconnected(t, retrytopics.Config{Handler: nothing})
		for range instance.BlockedFrom {
			s.in.Health.Failed(s.in.Cfg.Logger, errors.New("not allowed"))
		}
		started := make(chan *schedule.Task)
		go func() {
			for task := s.Sched.Next(); task != nil; task = s.Sched.Next() {
				started <- task
			}
		}()
		begins := func() (task *schedule.Task) {
			synctest.Wait()
			select {
			case task = <-started:
			default:
			}
			return task
		}
		s.aborted = []*partition.Task{{}}
		s.block()
		s.takes(&kgo.Record{Topic: "in", Offset: 0, Key: []byte("a")}, &kgo.Record{Topic: "in", Offset: 1, Key: []byte("b")})
		expect.That(t, begins() == nil, "an attempt begins, and a result waits for its commit")
		s.aborted = nil
		s.block()
		probe := begins()
		must.That(t, probe != nil, "no attempt begins, and there is nothing that could be committed")
		expect.That(t, begins() == nil, "a second attempt begins while the first one runs")
		s.Sched.Finish(probe)
		expect.That(t, begins() == nil, "a second attempt begins before the result of the first is committed")
		s.in.Health.Passed(s.in.Cfg.Logger)
		s.block()
		expect.That(t, begins() != nil, "the problem is over, and no attempt begins")
	})
}

// S4-12: an instance that was expelled from the group, for example because the brokers are gone, still reports what
// waited. An instance that hands over its partitions reports nothing.
func TestSession_S4_12_whatWaitedIsKnownAfterALossAndNotAfterAHandOver(t *testing.T) {
	t.Parallel()
	client := disconnected(t)
	all := map[string][]int32{"in": {0}}
	for name, c := range map[string]struct {
		end func(s *Session)
		lag int64
	}{
		"lost":        {func(s *Session) { s.onLost(t.Context(), client, all) }, 7},
		"lost_before": {func(s *Session) { s.hasAssignment = false; s.onLost(t.Context(), client, all) }, 0},
		"handed_over": {func(s *Session) { s.onGone(t.Context(), client, all) }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := unconnected(t, retrytopics.Config{Handler: nothing})
			s.Committer = kafka.Plain(client)
			s.onAssignment(all)
			s.partitions[partition.ID{Topic: "in", Partition: 0}].Held = 7
			c.end(s)
			s.remember() // the end of the session
			expect.Equal(t, s.in.LastStats().Lag, c.lag, "lag")
		})
	}
}

// S4-12: the records of an aborted transaction are read again. Until then the instance still reports that they wait,
// and afterwards it counts none of them twice.
func TestSession_S4_12_whatWaitsIsKnownAfterAnAbort(t *testing.T) {
	t.Parallel()
	client := disconnected(t)
	s := unconnected(t, retrytopics.Config{Handler: nothing, Retries: retrytopics.Retries{Tiers: []policy.Tier{{Topic: "in.retry-2s", Delay: 2 * time.Second}}}})
	s.Committer = kafka.Plain(client)
	tier := partition.ID{Topic: "in.retry-2s", Partition: 0}
	now := time.Now()
	take := func(offsets ...int64) {
		for _, at := range offsets {
			s.accepted(s.partitions[tier], &kgo.Record{Topic: tier.Topic, Offset: at, Timestamp: now.Add(-time.Minute)}, now)
		}
	}
	waits := func(when string, want int64) {
		t.Helper()
		expect.Equal(t, s.known(now).Tiers[0].Waiting, want, when, "records wait")
	}
	take(0, 1, 2) // of a former owner
	for _, at := range []int64{3, 4, 6} {
		s.partitions[tier].Wrote(at)
	}
	take(3, 4)
	waits("before", 6)
	s.partitions[tier].Let(4, 0) // finished and committed ahead of the others
	s.partitions[tier].Committed = offsets.Commit{Offset: 0, Metadata: offsets.EncodeFinished(0, []offsets.Span{{First: 4, Last: 4}})}
	waits("one finished", 5)
	must.Do(t, s.renew())
	waits("after the abort", 5)
	take(0, 1, 2, 3, 4)
	waits("taken again", 5)
	take(6)
	waits("all taken", 5)
}

// orderOf returns the order of a key in the first partition, as of the last attempt.
func (s *Session) orderOf(key string) keyorder.State {
	return s.states[0].Memory.Past([]byte(key), idempotency.KeyHash{}, time.Time{}).Order
}

// unconnected returns a session with one partition of the source and one of each tier. It accepts records and has no
// broker.
func unconnected(t *testing.T, cfg retrytopics.Config) *Session {
	t.Helper()
	cfg.Brokers, cfg.Source, cfg.Group, cfg.Membership.Instance, cfg.Timing.Commit = []string{"none"}, "in", "g", "i", time.Hour
	complete := must.Get(cfg.Complete())(t)
	in := instance.New(complete)
	s := offline(t.Context(), in, 10<<20)
	t.Cleanup(s.abandon)
	for tier := schedule.Source; tier < len(in.Cfg.Retries.Tiers); tier++ {
		topic := in.Cfg.Source
		if tier != schedule.Source {
			topic = in.Cfg.Retries.Tiers[tier].Topic
		}
		must.Do(t, s.start(partition.ID{Topic: topic, Partition: 0}, tier, offsets.Commit{Offset: 0}))
	}
	return s
}

// disconnected returns a client whose broker does not exist.
func disconnected(t *testing.T) *kgo.Client {
	t.Helper()
	client := must.Get(kgo.NewClient(kgo.SeedBrokers("127.0.0.1:1")))(t)
	t.Cleanup(client.Close)
	return client
}

func nothing(context.Context, *retrytopics.Record) (retrytopics.Result, error) {
	return retrytopics.Result{}, nil
}

// takes passes records of one topic to the scheduler.
func (s *Session) takes(records ...*kgo.Record) {
	var all []schedule.Record
	for _, r := range records {
		t, _ := s.accepted(s.partitions[partition.ID{Topic: r.Topic, Partition: 0}], r, time.Now())
		all = append(all, t)
	}
	s.Sched.Add(all)
}

// remembers sets the order of a key of partition 0.
func (s *Session) remembers(key string, order keyorder.State) {
	s.states[0].Memory.Apply(&memory.Change{}, []byte(key), &memory.Past{}, memory.Effect{LateDelete: -1, Order: order, Ordered: true})
}

// attempts makes an attempt at the next record and finishes it.
func (s *Session) attempts(t *testing.T) *retrytopics.Event {
	t.Helper()
	task := partition.TaskOf(s.Sched.Next())
	w := s.in.Attempts.NewWorker(s.Sched.Counts)
	held, undone := w.Attempt(t.Context(), &task.Task)
	must.That(t, held == nil && !undone, "the attempt does not count")
	s.Sched.Finish(&task.Task.Task)
	return &task.Event
}

// A record whose output the broker refused gets its task when it is accepted, while workers create tasks of the same
// partition. Each record has a task of its own.
func TestSession_recordsOfRefusedOutputsAreTakenWhileWorkersMakeTasks(t *testing.T) {
	t.Parallel()
	s := unconnected(t, retrytopics.Config{Handler: nothing})
	const records = 20_000
	for o := int64(1); o < records; o += 2 {
		s.refused[header.Position{Topic: "in", Partition: 0, Offset: o}] = &refused{err: kerr.MessageTooLarge, output: true}
	}
	s.Sched.Pace(records, 0) // any number of results may wait
	seen := map[int64]bool{}
	var workers sync.WaitGroup
	workers.Go(func() {
		for range records {
			task := s.Sched.Next()
			seen[task.Offset] = true
			s.Sched.Finish(task)
		}
	})
	for o := range int64(records) {
		s.takes(&kgo.Record{Topic: "in", Offset: o})
	}
	workers.Wait()
	expect.That(t, len(seen) == records, "%d of %d records were given to a worker", len(seen), records)
}

// In strict order a record whose output the broker refuses waits for its turn like any other. Otherwise it would
// block its key while earlier records wait, or become a dead letter unnoticed by its successors.
func TestEngine_strictARefusedOutputWaitsForItsTurn(t *testing.T) {
	t.Parallel()
	due := time.Now().Add(time.Hour).UTC().Truncate(time.Millisecond)
	waits := keyorder.State{Next: 1, Last: 2, Due: due}
	inTier := header.Control{Source: header.Position{Topic: "in", Partition: 0, Offset: 7}, HasSource: true, Sequence: 2, Due: time.Unix(1, 0)}
	for _, c := range []struct {
		name     string
		record   kgo.Record
		sequence int64
		after    keyorder.State
	}{
		{"from the source", kgo.Record{Topic: "in", Offset: 9}, 3, keyorder.State{Next: 1, Last: 3, Due: due}},
		{"from a tier", kgo.Record{Topic: "in.retry-2s", Offset: 9, Headers: inTier.AppendTo(nil)}, 2, waits},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := unconnected(t, retrytopics.Config{
				Ordering: retrytopics.Ordering{Mode: retrytopics.OrderStrict, OnDeadLetter: retrytopics.OnDeadLetterHoldKey},
				Handler:  nothing,
			})
			c.record.Key = []byte("k")
			s.refused[header.Position{Topic: c.record.Topic, Partition: 0, Offset: 9}] = &refused{err: kerr.MessageTooLarge, output: true}
			s.remembers("k", waits)
			s.takes(&c.record)
			e := s.attempts(t)
			expect.That(t, e.Decision.Outcome == policy.OutcomeParked && e.Record.Control.Sequence == c.sequence, "%+v with number %d, want it to wait with number %d", e.Decision, e.Record.Control.Sequence, c.sequence)
			expect.Equal(t, s.orderOf("k"), c.after, "the key's state")
			s.remembers("k", keyorder.State{})
			s.refused[header.Position{Topic: "in", Partition: 0, Offset: 10}] = &refused{err: kerr.MessageTooLarge, output: true}
			s.takes(&kgo.Record{Topic: "in", Offset: 10, Key: []byte("k")})
			e = s.attempts(t)
			expect.That(t, e.Decision.Outcome == policy.OutcomeDeadLettered, "%+v when nothing waits, want a dead letter", e.Decision)
		})
	}
}

// A record with malformed control headers becomes a dead letter at once, whatever its key waits for. It does not
// release the key from the dead letter that blocks it, nor from earlier waiting events: a replay of it would take
// effect before them.
func TestEngine_strictAnUnreadableRecordHoldsNoKeyOutOfItsTurn(t *testing.T) {
	t.Parallel()
	for name, waits := range map[string]keyorder.State{
		"blocked by another dead letter": {Next: 1, Held: "another", DeadLetters: 1},
		"an earlier event waits":         {Next: 1, Last: 1, Due: time.Unix(2_000_000_000, 0)},
		"nothing waits, it blocks":       {},
	} {
		t.Run(name, func(t *testing.T) {
			s := unconnected(t, retrytopics.Config{Ordering: retrytopics.Ordering{Mode: retrytopics.OrderStrict, OnDeadLetter: retrytopics.OnDeadLetterHoldKey}, Handler: nothing})
			s.remembers("k", waits)
			s.takes(&kgo.Record{Topic: "in", Offset: 9, Key: []byte("k"), Headers: []kgo.RecordHeader{{Key: header.KeyAttempt, Value: []byte("many")}}})
			e := s.attempts(t)
			want := waits
			want.DeadLetters++
			if waits == (keyorder.State{}) {
				want.Next, want.Held = 1, e.DeadLetterID
			}
			st := s.orderOf("k")
			expect.That(t, e.Decision.Outcome == policy.OutcomeDeadLettered && st == want, "%s, the key's state is %+v, want %+v", e.Decision.Outcome, st, want)
		})
	}
}

// A forced replay that waits while the source is re-created and adopted keeps the position and the generation in
// which it was reinjected: events that came after it there are newer.
func TestSession_S4_8_aWaitingForcedReplayKeepsItsGeneration(t *testing.T) {
	t.Parallel()
	s := unconnected(t, retrytopics.Config{Handler: nothing, Ordering: retrytopics.Ordering{Mode: retrytopics.OrderLatestWins}})
	l := s.partitions[partition.ID{Topic: s.in.Cfg.Retries.Tiers[0].Topic, Partition: 0}]
	l.State.Generation = 2
	control := header.Control{
		Attempt: 1, Source: header.Position{Topic: "in", Offset: 3}, HasSource: true, Due: time.Now(), DeadLetterID: "a", ReplayID: "r",
		ForceVersion: true, ReplaySource: header.Position{Topic: "in", Offset: 146}, ReplayGeneration: 1,
	}
	n := partition.Fill(s.in, &partition.Task{}, l, &kgo.Record{Topic: l.Topic, Key: []byte("k"), Headers: control.AppendTo(nil)}, 0, s.in.Attempts.Now())
	expect.Equal(t, s.in.Attempts.Event(&n.Task, nil, false).Replayed, header.VersionPosition(1, 146), "version of the replay")
	control.ReplayGeneration = 7 // a header cannot claim a later generation than the current one
	n = partition.Fill(s.in, &partition.Task{}, l, &kgo.Record{Topic: l.Topic, Key: []byte("k"), Headers: control.AppendTo(nil)}, 0, s.in.Attempts.Now())
	expect.Equal(t, s.in.Attempts.Event(&n.Task, nil, false).Replayed, header.VersionPosition(2, 146), "version of a later one")
}

// A record of a retry topic and a source record with the same key never run at the same time.
func TestSession_partitionsOfANumberShareTheirKeys(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := unconnected(t, retrytopics.Config{Handler: nothing})
		source, tier := s.partitions[partition.ID{Topic: "in", Partition: 0}], s.partitions[partition.ID{Topic: s.in.Cfg.Retries.Tiers[0].Topic, Partition: 0}]
		record := func(l *partition.Partition) schedule.Record {
			n := partition.Fill(s.in, &partition.Task{}, l, &kgo.Record{Topic: l.Topic, Key: []byte("k")}, 0, s.in.Attempts.Now())
			return schedule.Record{Task: &n.Task.Task, Partition: l.Sched}
		}
		s.Sched.Add([]schedule.Record{record(source), record(tier)})
		started := make(chan *schedule.Task, 2)
		for range 2 {
			go func() { started <- s.Sched.Next() }()
		}
		synctest.Wait()
		expect.Equal(t, len(started), 1, "tasks of one key run")
		s.Sched.Finish(<-started)
		synctest.Wait()
		expect.Equal(t, len(started), 1, "then")
	})
}

// If an attempt is repeated in place and panics, nothing of the first answer remains.
func TestSession_S4_15_aPanicHasNoAnswer(t *testing.T) {
	t.Parallel()
	calls := 0
	s := unconnected(t, retrytopics.Config{Ordering: retrytopics.Ordering{Mode: retrytopics.OrderLatestWins, Versioned: true}, Handler: func(context.Context, *retrytopics.Record) (retrytopics.Result, error) {
		if calls++; calls > 1 {
			panic("second")
		}
		return retrytopics.Result{Identity: retrytopics.Identity{FeatureID: "f1", ContentHash: "h"}, Delete: true, Version: new(int64(7))}, classify.WithClass(classify.RetryNow, errors.New("again"))
	}})
	s.takes(&kgo.Record{Topic: "in", Offset: 0, Key: []byte("a"), Value: []byte("v")})
	event := s.attempts(t)
	left := event.Record.Context.(*attempt.Task).Result
	expect.That(t, calls == 2 && event.Identity.FeatureID == "" && left.Version == nil && !left.Delete, "%d calls; %+v, %+v", calls, event.Identity, left)
}
