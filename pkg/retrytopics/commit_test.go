package retrytopics

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
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

// finished makes one attempt in a context and keeps its result as a session that ends does.
func finished(ctx context.Context, t *testing.T, handler Handler) *session {
	t.Helper()
	s := unconnected(t, Config{Handler: handler})
	s.takes(&kgo.Record{Topic: "in", Offset: 0, Key: []byte("k"), Value: []byte("v")})
	one := s.sched.next()
	w := worker{e: s.e}
	held, undone := w.attempt(ctx, one)
	must.That(t, held == nil && !undone, "the attempt does not count")
	s.keepResults([]*task{one})
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
	_, kept := s.e.results.pop(header.Position{Topic: "in", Partition: 0, Offset: 0})
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
		_, kept := s.e.results.pop(header.Position{Topic: "in", Partition: 0, Offset: 0})
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
		finished := &task{outputs: []*kgo.Record{sent, {Topic: "audit"}}, result: Result{Outputs: []*kgo.Record{sent}}, dated: dated}
		s := &session{}
		s.salvage([]*task{finished})
		expect.That(t, sent.Context != nil && sent.Timestamp.Equal(own), "the client's record has changed: %+v", sent)
		kept := finished.outputs[0]
		expect.That(t, kept != sent && kept.Context == nil && kept.Timestamp.IsZero() != dated, "dated %t: kept %+v", dated, kept)
		expect.That(t, finished.result.Outputs[0] == kept, "the result still has the client's record")
		expect.That(t, kept.Topic == "out" && kept.Partition == 3 && string(kept.Key)+string(kept.Value) == "kv" && len(kept.Headers) == 1, "kept %+v", kept)
		expect.That(t, s.unfinished(), "nothing is left for the next transaction")
	}
}

// What is finished far beyond the prefix must always fit into the commit's metadata, whatever falls due first.
func TestGate_keepsTheMetadataSmall(t *testing.T) {
	t.Parallel()
	const metadata = 400
	for seed := range uint64(50) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		s := newScheduler(time.Millisecond, offsets.MostUnfinished(metadata), 64<<20, func() {})
		l := partitionAt(t, 0)
		var tasks []*task
		for o := range int64(3000) {
			l.window.Add(o * 3)
			task := taskAt(l, o)
			task.raw.Offset = o * 3
			tasks = append(tasks, task)
		}
		rnd.Shuffle(len(tasks), func(i, j int) { tasks[i], tasks[j] = tasks[j], tasks[i] })
		s.pace(len(tasks))
		s.add(given(tasks)) // as if they had fallen due in this order
		for done := range tasks {
			must.That(t, s.runnable.len() != 0, "seed %d: the partition is stuck after %d records", seed, done)
			items := s.runnable.items()
			i := rnd.IntN(len(items))
			items[0], items[i] = items[i], items[0]
			finished := s.next()
			s.done(finished)
			l.window.Finish(finished.raw.Offset)
			if m := l.window.Commit(); len(m.Metadata) > metadata {
				t.Fatalf("seed %d: %d bytes of metadata, limit %d, %d runs, gate %d/%d blocked %d %v", seed, len(m.Metadata), metadata, len(l.window.Finished()), l.gate.started, l.gate.finished, l.gate.blocked.len(), s.ahead)
			}
		}
		expect.Equal(t, l.window.Commit(), (offsets.Commit{Offset: 2999*3 + 1}), "seed", seed, "mark")
		s.close()
	}
}

// Runs of a former owner whose records are gone meanwhile, as compaction and retention do, give room at once: what waits for it
// goes before what comes then.
func TestGate_letsNoRecordOvertake(t *testing.T) {
	t.Parallel()
	s := newScheduler(time.Millisecond, 4, 64<<20, func() {})
	defer s.close()
	l := partitionAt(t, 0)
	at := func(index, restored int64) fetched {
		r := keyed(l, index, "k").fetched()
		r.restored = restored
		return r
	}
	s.add([]fetched{at(0, 3), at(1, 3), at(2, 3)})
	s.add([]fetched{at(3, 0)})
	for want := range int64(4) {
		must.That(t, s.runnable.len() != 0, "offset %d is not runnable", want)
		got := s.next()
		must.That(t, got.offset == want, "offset %d ran, want %d: both have one key", got.offset, want)
		s.done(got)
	}
}
