//go:build unix

package chaos

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/pkg/retrytopics/engine"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/integration/chaos/feed"
	"github.com/switchback-geo/switchback/integration/chaos/journal"
	"github.com/switchback-geo/switchback/integration/chaos/worker"
	"github.com/switchback-geo/switchback/integration/simulation/judge"
	"github.com/switchback-geo/switchback/integration/simulation/plan"
	"github.com/switchback-geo/switchback/internal/testkit/broker"
	"github.com/switchback-geo/switchback/internal/testkit/conservation"
	"github.com/switchback-geo/switchback/internal/testkit/eventually"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/proxy"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/internal/testkit/topiclog"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// These are the timeouts of a scene. The broker expires workers and transactions within a few seconds, so that expiries
// happen often.
const (
	sessionTimeout     = 2 * time.Second
	transactionTimeout = 4 * time.Second
)

// Time limits. They only end a scene that hangs.
func stopBound() time.Duration  { return testrun.Patient(30 * time.Second) }
func stallBound() time.Duration { return testrun.Patient(45 * time.Second) }
func judgeBound() time.Duration { return testrun.Patient(90 * time.Second) }

const sceneBound = 8 * time.Minute // newScene applies testrun.Patient

// setup configures a scene.
type setup struct {
	order      retrytopics.Order
	partitions int32
	workers    []string
	rate       int             // records per second
	limit      int             // of the records of the load; without it, the load runs until stopLoad
	mix        feed.Mix        // of the load; feed.DefaultMix if empty
	delays     []time.Duration // of the tiers; short ones if empty
	heldBytes  int             // approximate limit of the bytes of records in a worker
	proxied    bool            // workers reach the broker through the proxy
}

// scene is one pipeline to which faults happen.
type scene struct {
	t      *testing.T
	ctx    context.Context
	seed   uint64
	rng    *rand.Rand
	setup  setup
	kafka  *broker.Owned
	proxy  *proxy.Proxy
	log    *topiclog.Cluster
	base   worker.Settings
	fleet  *fleet
	pump   *feed.Pump
	sent   int            // by pumps that have ended
	effect *topiclog.Tail // follows the output topic
	dir    string

	expired int // transactions that the broker aborted
}

// newScene creates the topics and starts the workers and the load.
func newScene(t *testing.T, bound time.Duration, s setup) *scene {
	t.Helper()
	w := sharedEnvironment(t)
	began := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), testrun.Patient(bound)) //nolint:usetesting // the checker still reads when the test ends
	sc := &scene{t: t, ctx: ctx, seed: *seedFlag, setup: s, kafka: w.kafka, proxy: w.proxy}
	if sc.seed == 0 {
		sc.seed = testrun.Seed(t)
	}
	sc.rng = rand.New(rand.NewPCG(sc.seed, 0xc4a05))
	dir, err := os.MkdirTemp("", "switchback-chaos-") //nolint:usetesting // kept when the test fails
	must.Do(t, err)
	sc.dir = dir
	t.Log(sc.kafka)
	t.Logf("seed %d (again: -run '%s' -chaos.seed %d)", sc.seed, t.Name(), sc.seed)
	t.Cleanup(func() {
		cancel()
		sc.heal()
		if sc.fleet == nil {
			return // the test failed before anything ran
		}
		t.Logf("%d records, %d workers killed, %v", sc.sent, sc.fleet.killed(), time.Since(began).Round(time.Second))
		if t.Failed() {
			shared.failed.Store(true)
			t.Logf("seed %d failed; the workers' logs are kept in %s, the broker's data in %s", sc.seed, dir, sc.kafka.Dir)
		} else if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	sc.log = topiclog.Connect(t, []string{sc.kafka.Addr})
	sc.base = sc.settings()
	sc.fleet = newFleet(t, dir, sc.base)
	sc.create()
	sc.effect = sc.log.Tail(t, sc.base.Output)
	for _, name := range s.workers {
		sc.fleet.start(name)
	}
	sc.feed(s.mix, s.rate, s.limit)
	sc.progress(100)
	return sc
}

// feed starts a load with a limit of records. Zero means no limit.
func (sc *scene) feed(mix feed.Mix, rate, limit int) {
	sc.t.Helper()
	if mix.Keys == 0 {
		mix = feed.DefaultMix()
	}
	pump := must.Get(feed.Start([]string{sc.kafka.Addr}, sc.base.Source, feed.NewMaker(mix, sc.seed), rate, limit))(sc.t)
	sc.pump = pump
}

// untilSent waits until the load has sent n records.
func (sc *scene) untilSent(n int) {
	sc.t.Helper()
	eventually.Until(sc.ctx, sc.t, fmt.Sprintf("%d records", n), func() (bool, string) { return sc.pump.Sent() >= n, fmt.Sprint(sc.pump.Sent()) })
}

// stopLoad stops the load if it runs.
func (sc *scene) stopLoad() {
	sc.t.Helper()
	if sc.pump != nil {
		must.Do(sc.t, sc.pump.Stop(sc.ctx))
		sc.sent += sc.pump.Sent()
		sc.pump = nil
	}
}

func (sc *scene) settings() worker.Settings {
	name := topiclog.Unique("chaos")
	s := worker.Settings{
		Brokers: []string{sc.kafka.Addr}, Source: name, Output: name + ".out", Journal: name + ".journal", Group: name,
		Order: sc.setup.order, Delays: []time.Duration{300 * time.Millisecond, time.Second, 2 * time.Second}, Attempts: 5,
		HeldBytes: sc.setup.heldBytes, Dedupe: time.Hour, Session: sessionTimeout, Transaction: transactionTimeout,
	}
	if len(sc.setup.delays) > 0 {
		s.Delays = sc.setup.delays
	}
	if sc.setup.proxied {
		s.Brokers = []string{sc.proxy.Addr()}
	}
	return s
}

func (sc *scene) create() {
	sc.t.Helper()
	for _, topic := range []string{sc.base.Source, sc.base.Output, sc.base.Journal} {
		must.Do(sc.t, sc.log.Create(sc.ctx, topic, sc.setup.partitions, nil))
	}
	cfg := sc.base.Config()
	cfg.Membership.Instance, cfg.Brokers = "setup", []string{sc.kafka.Addr}
	cfg.Handler = func(context.Context, *retrytopics.Record) (retrytopics.Result, error) {
		return retrytopics.Result{}, nil
	}
	e := must.Get(engine.New(cfg))(sc.t)
	must.Do(sc.t, e.CreateTopics(sc.ctx))
	p := sc.topics()
	want := append(p.Tiers, p.Source, p.Output, p.Audit, p.DLQ, cfg.Source+".ledger")
	if cfg.Ordering.Mode != retrytopics.OrderNone {
		want = append(want, cfg.Source+".state")
	}
	eventually.Until(sc.ctx, sc.t, "the new topics", func() (bool, string) { // the broker acknowledges the creation before the topics are visible
		details, err := sc.log.Admin().ListTopics(sc.ctx, want...)
		if err == nil {
			err = details.Error()
		}
		return err == nil, fmt.Sprint(err)
	})
}

// pause waits for a duration. It is only for effects that no test can observe.
func (sc *scene) pause(d time.Duration) {
	select {
	case <-time.After(d):
	case <-sc.ctx.Done():
	}
}

// randomUpTo returns a random time up to d.
func (sc *scene) randomUpTo(d time.Duration) time.Duration {
	return time.Duration(sc.rng.Int64N(int64(d)))
}

// pickInstance returns one of the running instances, or "" if none runs.
func (sc *scene) pickInstance() string {
	names := sc.fleet.names()
	if len(names) == 0 {
		return ""
	}
	return names[sc.rng.IntN(len(names))]
}

// progress waits until n more records are in the output topic. A fault in an idle pipeline proves nothing.
func (sc *scene) progress(n int) {
	sc.t.Helper()
	mark := len(sc.effect.Seen()) + n
	sc.effect.UntilCount(sc.ctx, sc.t, fmt.Sprintf("%d more effects (seed %d)", n, sc.seed), mark)
}

// calm ends the load and all faults, and starts every worker.
func (sc *scene) calm() {
	sc.t.Helper()
	sc.heal()
	sc.stopLoad()
	for _, name := range sc.setup.workers {
		sc.fleet.thaw(name)
		sc.fleet.start(name)
	}
}

// end waits until the pipeline is drained with all workers running, and judges it. It returns the due times of all
// retries.
func (sc *scene) end() (retries []time.Time) {
	sc.t.Helper()
	sc.calm()
	sc.drain()
	for _, name := range sc.fleet.names() {
		sc.fleet.stop(name)
	}
	for _, end := range sc.fleet.unexpectedExits() {
		sc.t.Errorf("seed %d: a worker ended on its own: %s", sc.seed, end)
	}
	return sc.judge()
}

// heal restores the network. In scenes without a proxy, it does nothing.
func (sc *scene) heal() {
	if sc.setup.proxied {
		sc.proxy.Resume()
	}
}

func (sc *scene) topics() conservation.Pipeline {
	p := conservation.Pipeline{Source: sc.base.Source, Output: sc.base.Output, DLQ: sc.base.Source + ".dlq", Audit: sc.base.Journal, Group: sc.base.Group}
	for _, tier := range sc.base.Tiers() {
		p.Tiers = append(p.Tiers, tier.Topic)
	}
	return p
}

// drain waits until the group has committed everything. It has no time limit of its own, but a pipeline that commits
// nothing for stallBound() is stuck.
func (sc *scene) drain() {
	sc.t.Helper()
	began := time.Now()
	moved, last := began, ""
	for uncommitted := sc.uncommitted(sc.ctx); uncommitted != ""; uncommitted = sc.uncommitted(sc.ctx) {
		if uncommitted != last {
			moved, last = time.Now(), uncommitted
		}
		if sc.ctx.Err() != nil || time.Since(moved) > stallBound() {
			sc.t.Errorf("seed %d: not done %v after the last fault, no commit for %v: %s",
				sc.seed, time.Since(began), time.Since(moved), last)
			return
		}
		sc.pause(200 * time.Millisecond)
	}
	sc.t.Logf("idle %v after the last record", time.Since(began).Round(100*time.Millisecond))
}

// uncommitted describes the records that the group has not committed. It reads the commits before the end offsets, so
// a record that a commit moves to another topic is not missed.
func (sc *scene) uncommitted(ctx context.Context) string {
	p := sc.topics()
	committed, err := sc.log.Committed(ctx, p.Group)
	if err != nil {
		return err.Error()
	}
	ends, err := sc.log.Admin().ListEndOffsets(ctx, append(p.Tiers, p.Source)...)
	if err != nil {
		return err.Error()
	}
	var uncommitted []string
	for _, end := range ends.Offsets().Sorted() {
		at := committed[end.Topic][end.Partition]
		if at < end.At {
			uncommitted = append(uncommitted, fmt.Sprintf("%s/%d at %d of %d", end.Topic, end.Partition, at, end.At))
		}
	}
	return strings.Join(uncommitted, ", ")
}

// judge reads the topics and reports every violation of the engine's guarantees. It returns the due times of all
// retries.
func (sc *scene) judge() (retries []time.Time) {
	sc.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), judgeBound())
	defer cancel()
	sc.verify(ctx)
	e := sc.evidence(ctx)
	violations := judge.Verdict(e)
	expect.That(sc.t, len(violations) == 0, "seed %d: %d violations", sc.seed, len(violations))
	const mostShown = 5
	for _, v := range violations[:min(len(violations), mostShown)] {
		sc.t.Errorf("seed %d: %s\n%s", sc.seed, v, judge.Journey(e, v.Source))
	}
	inputs, sum := conservation.Of(sc.topics(), e.Logs, e.Committed).Totals()
	expect.That(sc.t, inputs == sc.sent, "seed %d: %d records are in the source, %d were acknowledged", sc.seed, inputs, sc.sent)
	for _, call := range e.Calls {
		if !call.Due.IsZero() {
			retries = append(retries, call.Due)
		}
	}
	sc.t.Logf("%d records: %d delivered, %d dead letters, %d closed; %d retries", inputs, sum.Output, sum.DeadLetters, sum.Closed, len(retries))
	expect.That(sc.t, sum.DeadLetters != 0 && sum.Closed != 0 && len(retries) != 0, "seed %d: too little happened to prove anything", sc.seed)
	return retries
}

// evidence reads the evidence for the judge.
func (sc *scene) evidence(ctx context.Context) judge.Evidence {
	sc.t.Helper()
	p := sc.topics()
	e := judge.Evidence{
		Plan: plan.Plan{Engine: plan.Engine{Order: sc.base.Order, MaxAttempts: sc.base.Attempts, Window: sc.base.Dedupe, Tiers: sc.base.Delays}},
		EventOf: func(r *kgo.Record) (plan.Event, error) {
			return planned(r, sc.base.Attempts)
		},
		Topics: judge.Topics{Source: p.Source, Output: p.Output, Journal: p.Audit, DLQ: p.DLQ, Tiers: p.Tiers},
		Logs:   map[string][]*kgo.Record{},
	}
	for _, topic := range append(p.Tiers, p.Source, p.Output, p.Audit, p.DLQ) {
		e.Logs[topic] = must.Get(sc.log.Read(ctx, topic))(sc.t)
	}
	e.Committed = must.Get(sc.log.Committed(ctx, p.Group))(sc.t)
	for _, r := range e.Logs[p.Audit] {
		step := must.Get(journal.Parse(r))(sc.t)
		if step.Decision == "parked" {
			continue
		}
		expect.That(sc.t, !step.Started.IsZero(), "seed %d: %s without an attempt: %s", sc.seed, step.Decision, step)
		e.Calls = append(e.Calls, judge.Call{Source: step.Source, Position: step.Position, Attempt: step.Attempt, Instance: step.Worker, At: step.Started, Due: step.Due})
	}
	return e
}

// planned returns the expected outcome of a record as an event of a plan. Two records have the same content if their
// bytes are equal.
func planned(r *kgo.Record, attempts int) (plan.Event, error) {
	event, err := feed.Parse(r.Value)
	content := fnv.New32a()
	content.Write(r.Value)
	e := plan.Event{Key: string(r.Key), Delete: r.Value == nil, Content: int(content.Sum32()), Parts: 1, Fate: plan.FateDone, Fails: event.Fails, Deaths: 1}
	switch {
	case event.Permanent:
		e.Fate = plan.FatePermanent
	case event.Dies(attempts):
		e.Fate = plan.FateExhausted
	case event.Fails > 0:
		e.Fate = plan.FateTransient
	}
	return e, err
}
