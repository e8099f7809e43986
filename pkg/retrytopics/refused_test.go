package retrytopics

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/keyorder"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/offsets"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// unconnected is a session of one partition of the source and one of each tier, that takes records and has no broker.
func unconnected(t *testing.T, cfg Config) *session {
	t.Helper()
	cfg.Brokers, cfg.Source, cfg.Group, cfg.Membership.Instance, cfg.Timing.Commit = []string{"none"}, "in", "g", "i", time.Hour
	e := must.Get(New(cfg))(t)
	s := e.unconnected(t.Context(), 10<<20)
	t.Cleanup(s.abandon)
	for tier := sourceTier; tier < len(e.cfg.Retries.Tiers); tier++ {
		topic := e.cfg.Source
		if tier != sourceTier {
			topic = e.cfg.Retries.Tiers[tier].Topic
		}
		must.Do(t, s.start(topicPartition{topic, 0}, tier, offsets.Commit{Offset: 0}))
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

func nothing(context.Context, *Record) (Result, error) { return Result{}, nil }

// takes hands records of one topic to the scheduler.
func (s *session) takes(records ...*kgo.Record) {
	var all []fetched
	for _, r := range records {
		t, _ := s.accepted(s.partitions[topicPartition{r.Topic, 0}], r, time.Now())
		all = append(all, t)
	}
	s.sched.add(all)
}

// attempts makes an attempt at the next record and finishes it.
func (s *session) attempts(t *testing.T) *Event {
	t.Helper()
	task := s.sched.next()
	w := worker{e: s.e}
	held, undone := w.attempt(t.Context(), task)
	must.That(t, held == nil && !undone, "the attempt does not count")
	s.sched.done(task)
	return &task.event
}

// An output that the broker refused makes its record's task while it is taken, when workers make others of the same partition. Each
// record has a task of its own.
func TestSession_recordsOfRefusedOutputsAreTakenWhileWorkersMakeTasks(t *testing.T) {
	t.Parallel()
	s := unconnected(t, Config{Handler: nothing})
	const records = 20_000
	for o := int64(1); o < records; o += 2 {
		s.refused[header.Position{Topic: "in", Partition: 0, Offset: o}] = &refused{err: kerr.MessageTooLarge, output: true}
	}
	s.sched.pace(records)
	seen := map[int64]bool{}
	var workers sync.WaitGroup
	workers.Go(func() {
		for range records {
			task := s.sched.next()
			seen[task.offset] = true
			s.sched.done(task)
		}
	})
	for o := range int64(records) {
		s.takes(&kgo.Record{Topic: "in", Offset: o})
	}
	workers.Wait()
	expect.That(t, len(seen) == records, "%d of %d records came to a worker", len(seen), records)
}

// In strict order a record whose output the broker refuses waits for its turn like any other: it would hold its key while
// earlier ones wait, or die without its successors ever hearing of it.
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
			s := unconnected(t, Config{
				Ordering: Ordering{Mode: OrderStrict, OnDeadLetter: OnDeadLetterHoldKey},
				Handler:  nothing,
			})
			c.record.Key = []byte("k")
			s.refused[header.Position{Topic: c.record.Topic, Partition: 0, Offset: 9}] = &refused{err: kerr.MessageTooLarge, output: true}
			s.states[0].set([]byte("k"), waits)
			s.takes(&c.record)
			e := s.attempts(t)
			expect.That(t, e.Decision.Outcome == policy.OutcomeParked && e.Record.Control.Sequence == c.sequence,
				"%+v with number %d, want it to wait with number %d", e.Decision, e.Record.Control.Sequence, c.sequence)
			expect.Equal(t, s.states[0].keys["k"], c.after, "the key's state")
			s.states[0].set([]byte("k"), keyorder.State{})
			s.refused[header.Position{Topic: "in", Partition: 0, Offset: 10}] = &refused{err: kerr.MessageTooLarge, output: true}
			s.takes(&kgo.Record{Topic: "in", Offset: 10, Key: []byte("k")})
			e = s.attempts(t)
			expect.That(t, e.Decision.Outcome == policy.OutcomeDeadLettered, "%+v when nothing waits, want it dead", e.Decision)
		})
	}
}

// A record whose control headers cannot be read dies at once, whatever its key waits for. It does not take the key from the dead letter
// that holds it, nor from earlier events that wait: put back, it would take effect before them.
func TestEngine_strictAnUnreadableRecordHoldsNoKeyOutOfItsTurn(t *testing.T) {
	t.Parallel()
	for name, waits := range map[string]keyorder.State{
		"held by another letter":  {Next: 1, Held: "another", DeadLetters: 1},
		"an earlier event waits":  {Next: 1, Last: 1, Due: time.Unix(2_000_000_000, 0)},
		"nothing waits, it holds": {},
	} {
		t.Run(name, func(t *testing.T) {
			s := unconnected(t, Config{Ordering: Ordering{Mode: OrderStrict, OnDeadLetter: OnDeadLetterHoldKey}, Handler: nothing})
			s.states[0].set([]byte("k"), waits)
			s.takes(&kgo.Record{Topic: "in", Offset: 9, Key: []byte("k"), Headers: []kgo.RecordHeader{{Key: header.KeyAttempt, Value: []byte("many")}}})
			e := s.attempts(t)
			want := waits
			want.DeadLetters++
			if waits == (keyorder.State{}) {
				want.Next, want.Held = 1, e.DeadLetterID
			}
			st := s.states[0].keys["k"]
			expect.That(t, e.Decision.Outcome == policy.OutcomeDeadLettered && st == want, "%s, the key's state is %+v, want %+v", e.Decision.Outcome, st, want)
		})
	}
}
