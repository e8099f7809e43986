//go:build !race

package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/attempt"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/instance"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/kafka"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/offsets"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/partition"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/topics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
	"github.com/switchback-geo/switchback/pkg/retrytopics/statetopic"
)

// The explorer plays the engine's own session without a broker: its windows, gates, partitions, ledger, attempts,
// staged transactions and restores. From each state it takes every possible step, breadth first, and skips states
// that it has seen. A world is the content of the brokers. After each step the promises are checked against the world
// (explore_search_test.go).

// plan sets which histories are explored.
type plan struct {
	name      string
	histories []history
	keys      int
	tiers     []policy.Tier
	order     retrytopics.Ordering
	dedupe    bool
	versioned bool
	markers   bool  // a transaction leaves a marker in each tier that it writes to
	mixed     bool  // see describer.tasks
	slow      bool  // failures may ask for a wait beyond the longest tier
	room      int64 // unfinished records below a started one; 0: many
	faults    int   // number of faults that can occur in a history
	failures  int   // number of attempts that may fail
	kinds     []stepKind
	most      int // maximum number of states of a history
	mortal    int // only the first events may die; 0: all
}

const (
	ledgerWindow = 24 * time.Hour
	ledgerKeys   = 100
	maxTries     = 2
	longWait     = 10 * time.Second
	manyAhead    = 100
)

// runs returns how many runs of finished offsets fit into the metadata.
func (p *plan) runs() int64 { return cmp.Or(p.room, manyAhead) }

// explorer explores one history. It belongs to one goroutine.
type explorer struct {
	plan    *plan
	history history
	in      *instance.Instance
	client  *kgo.Client
	layout  *topics.Layout
	worker  *attempt.Worker
	keys    []idempotency.KeyHash

	at     *state // the state from which a step is taken
	fate   fate   // of the current attempt
	called bool   // the handler was called
	midway func() // called while the handler runs
	broken error  // the promise that the step violated
}

// state is everything at one moment.
type state struct {
	s       *Session
	w       *world
	results *attempt.Results // kept by the process

	id int32
}

// fate is the result of an attempt.
type fate uint8

const (
	succeeds fate = iota
	fails         // transiently
	failsLong
)

func newExplorer(p *plan, h history, client *kgo.Client) (*explorer, error) {
	x := &explorer{plan: p, history: h, client: client, layout: &topics.Layout{States: true, IDs: map[string]statetopic.TopicID{"in": {1}, "in.state": {2}, "in.ledger": {3}}}}
	ordering := p.order
	ordering.Versioned = p.versioned
	cfg := retrytopics.Config{
		Brokers: []string{"none"}, Source: "in", Group: "g", Membership: retrytopics.Membership{Instance: "i"}, Ordering: ordering,
		Retries: retrytopics.Retries{Tiers: p.tiers, Policy: policy.Policy{MaxAttempts: maxTries, Jitter: -1}, Classify: classifyFate},
		Origin:  retrytopics.Origin{Proven: retrytopics.TrustProducers}, Limits: retrytopics.Limits{Concurrency: 1}, Timing: retrytopics.Timing{Commit: time.Hour, ClockSkew: func() time.Duration { return x.at.w.clock }},
		Handler: x.handle,
	}
	if p.dedupe {
		cfg.Dedupe = retrytopics.Dedupe{Window: ledgerWindow, MaxKeys: ledgerKeys}
	}
	for i, t := range p.tiers {
		x.layout.IDs[t.Topic] = statetopic.TopicID{byte(4 + i)}
	}
	complete, err := cfg.Complete()
	if err != nil {
		return nil, err
	}
	x.in = instance.New(complete)
	x.worker = x.in.Attempts.NewWorker(nil)
	for k := range p.keys {
		x.keys = append(x.keys, idempotency.HashKey([]byte{'a' + byte(k)}))
	}
	return x, nil
}

// fateError is the failure of an attempt.
type fateError struct{ after time.Duration }

func (e *fateError) Error() string { return "not now" }

func classifyFate(err error) classify.Failure {
	if f, ok := errors.AsType[*fateError](err); ok {
		return classify.Failure{Class: classify.RetryBackoff, Level: classify.LevelTransient, RetryAfter: f.after, Err: err}
	}
	return classify.Failure{Class: classify.Permanent, Level: classify.LevelPermanent, Err: err}
}

// handle is the handler of all attempts.
func (x *explorer) handle(_ context.Context, r *retrytopics.Record) (retrytopics.Result, error) {
	x.called = true
	x.attempted(r)
	if during := x.midway; during != nil {
		x.midway = nil
		during()
	}
	switch x.fate {
	case fails:
		return retrytopics.Result{}, &fateError{}
	case failsLong:
		return retrytopics.Result{}, &fateError{longWait}
	case succeeds:
	}
	e := x.history[r.Source.Offset]
	result := retrytopics.Result{Identity: retrytopics.Identity{ContentHash: e.hash()}, Outputs: []*kgo.Record{{Topic: "out", Key: r.Key, Value: r.Value}}}
	if x.plan.versioned && e.version != tombstone {
		result.Version = &e.version
	}
	return result, nil
}

// enter makes a state the engine's current one.
func (x *explorer) enter(st *state) {
	x.at = st
	x.in.Results = st.results
}

func (x *explorer) clone(from *state) *state {
	x.enter(from)
	c := copier{from: from.s, now: x.in.Attempts.Now(), keys: x.keys}
	return &state{s: c.session(), w: from.w.clone(), results: from.results.Copy()}
}

// begin starts a process in a world: it reads the committed state and nothing else.
func (x *explorer) begin(w *world) *state {
	st := &state{w: w, results: attempt.NewResults(1 << 30)}
	x.enter(st)
	s := offline(context.Background(), x.in, offsets.MetadataFor(x.plan.runs()+1)+offsets.SealRoom)
	s.Sched.Pace(1<<20, 38*time.Millisecond) // any number of results may wait
	s.Sched.Close()
	s.Sched = s.Sched.Copy(nil, nil)
	s.Committer, s.layout, st.s = kafka.Plain(x.client), x.layout, s
	x.assign(st)
	return st
}

// assign assigns its partitions to a session, with the commits and the memory of the world.
func (x *explorer) assign(st *state) {
	s, w := st.s, st.w
	for i := range w.logs {
		tp := x.partitionOf(i)
		metadata := w.commits[i].metadata
		if err := s.assign(tp, &kmsg.OffsetFetchResponseGroupTopicPartition{Offset: w.commits[i].offset, Metadata: &metadata}); err != nil {
			x.breaks("commit %+v of partition %d cannot be taken over: %v", w.commits[i], i, err)
			return
		}
	}
	sh := s.states[0]
	for k, v := range w.states {
		if err := sh.RestoreState(&kgo.Record{Key: []byte(k), Value: v}); err != nil {
			x.breaks("the state cannot be restored: %v", err)
		}
	}
	for _, packed := range w.ledger {
		if err := sh.Memory.RestoreLedger(packed, x.in.Attempts.Now(), false); err != nil {
			x.breaks("the ledger cannot be restored: %v", err)
		}
	}
	resumed, err := s.resume(map[int32]*partition.State{0: sh})
	if err != nil {
		x.breaks("the memory does not fit: %v", err)
	}
	for i := range w.logs {
		for _, l := range resumed {
			if l.ID == x.partitionOf(i) {
				w.commits[i] = commit{l.Committed.Offset, l.CommitPoint(l.Committed).Metadata}
			}
		}
	}
	sh.Open()
	x.restored(st)
}

// partitionOf returns the topic partition of a step: 0 is the source, the tiers follow.
func (x *explorer) partitionOf(i int) partition.ID {
	if i == 0 {
		return partition.ID{Topic: "in", Partition: 0}
	}
	return partition.ID{Topic: x.plan.tiers[i-1].Topic, Partition: 0}
}

// breaks records a violation. The first one of a step counts.
func (x *explorer) breaks(format string, args ...any) {
	if x.broken == nil {
		x.broken = fmt.Errorf(format, args...)
	}
}

// Every interleaving of small histories keeps every promise. The number of states is printed.
func TestExplore_S3_1_S4_14_everyInterleavingKeepsThePromises(t *testing.T) {
	asked := cmp.Or(os.Getenv("SWITCHBACK_TEST_HISTORIES"), scales[0].name)
	at := slices.IndexFunc(scales, func(s scale) bool { return s.name == asked })
	must.That(t, at >= 0, "SWITCHBACK_TEST_HISTORIES is %q, and can be one of %+v", asked, scales)
	client := must.Get(kgo.NewClient(kgo.SeedBrokers("127.0.0.1:1")))(t)
	defer client.Close()
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // states are short-lived
	var all explored
	histories, began := 0, time.Now()
	for _, p := range plans(scales[at]) {
		started := time.Now()
		n := exploreAll(t, &p, client)
		if t.Failed() {
			return
		}
		t.Logf("explored: %-28s %4d histories %9d states %9d steps %6d ends, digest %016x, %.1f s", p.name, len(p.histories), n.states, n.steps, n.ends, n.digest, time.Since(started).Seconds())
		histories += len(p.histories)
		all.add(n)
	}
	t.Logf("explored: %d states in %d steps, of %d histories, scale %s, %.1f s", all.states, all.steps, histories, asked, time.Since(began).Seconds())
}

// exploreAll explores the histories of a plan in parallel, until the first violation.
func exploreAll(t *testing.T, p *plan, client *kgo.Client) (all explored) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { // its clock stands still
		next := make(chan history, len(p.histories))
		for _, h := range slices.Backward(p.histories) { // histories with many keys have most states
			next <- h
		}
		close(next)
		var mu sync.Mutex
		var workers sync.WaitGroup
		for range runtime.GOMAXPROCS(0) {
			workers.Go(func() {
				for h := range next {
					n, err := exploreOne(p, h, client)
					mu.Lock()
					all.add(n)
					expect.That(t, err == nil || t.Failed(), "%v", err)
					failed := t.Failed()
					mu.Unlock()
					if failed {
						return
					}
				}
			})
		}
		workers.Wait()
	})
	return all
}

func exploreOne(p *plan, h history, client *kgo.Client) (explored, error) {
	x, err := newExplorer(p, h, client)
	if err != nil {
		return explored{}, err
	}
	return x.explore()
}
