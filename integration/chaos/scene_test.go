//go:build unix

package chaos

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

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

// Times of a scene. The broker takes a worker for dead, and a transaction for
// expired, within a few seconds, so that there is time to do it often.
const (
	sessionTimeout     = 2 * time.Second
	transactionTimeout = 4 * time.Second
)

// Time limits. They only end a scene that hangs.
func stopBound() time.Duration  { return testrun.Patient(30 * time.Second) }
func stallBound() time.Duration { return testrun.Patient(45 * time.Second) }
func judgeBound() time.Duration { return testrun.Patient(90 * time.Second) }

const sceneBound = 8 * time.Minute // newScene applies testrun.Patient

// setup says what a scene is made of.
type setup struct {
	order      retrytopics.Order
	partitions int32
	workers    []string
	rate       int             // records a second
	most       int             // records of the load at most; without it, until a test has had enough
	mix        feed.Mix        // of the load; feed.DefaultMix unless given
	delays     []time.Duration // of the tiers; short ones unless given
	held       int             // bytes that a worker may hold, about
	memory     int             // bytes that its runtime may keep in memory; without it, what it likes
	proxied    bool            // workers reach the broker through the proxy
}

// scene is one pipeline under fire.
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
	effect *topiclog.Tail // the output, as it grows
	dir    string

	expired int // transactions that the broker gave up
}

// newScene makes the topics, starts the workers and the load.
func newScene(t *testing.T, bound time.Duration, s setup) *scene {
	t.Helper()
	w := theWorld(t)
	began := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), testrun.Patient(bound)) //nolint:usetesting // the checker still reads when the test ends
	sc := &scene{t: t, ctx: ctx, seed: *seedFlag, setup: s, kafka: w.kafka, proxy: w.proxy}
	if sc.seed == 0 {
		sc.seed = testrun.Seed(t)
	}
	sc.rng = rand.New(rand.NewPCG(sc.seed, 0xc4a05))
	dir, err := os.MkdirTemp("", "switchback-chaos-") //nolint:usetesting // kept when the test fails
	must.That(t, err == nil, "%v", err)
	sc.dir = dir
	t.Log(sc.kafka)
	t.Logf("seed %d (again: -run '%s' -chaos.seed %d)", sc.seed, t.Name(), sc.seed)
	t.Cleanup(func() {
		cancel()
		sc.heal()
		if sc.fleet == nil {
			return // the test has failed before anything ran
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
	sc.fleet.limit = s.memory
	sc.create()
	sc.effect = sc.log.Tail(t, sc.base.Output)
	for _, name := range s.workers {
		sc.fleet.start(name)
	}
	sc.feed(s.mix, s.rate, s.most)
	sc.progress(100)
	return sc
}

// feed begins a load, of most records unless most is zero.
func (sc *scene) feed(mix feed.Mix, rate, most int) {
	sc.t.Helper()
	if mix.Keys == 0 {
		mix = feed.DefaultMix()
	}
	pump := must.Get(feed.Start([]string{sc.kafka.Addr}, sc.base.Source, feed.NewMaker(mix, sc.seed), rate, most))(sc.t)
	sc.pump = pump
}

// sending waits until the load is of n records.
func (sc *scene) sending(n int) {
	sc.t.Helper()
	eventually.Until(sc.ctx, sc.t, fmt.Sprintf("%d records", n), func() (bool, string) { return sc.pump.Sent() >= n, fmt.Sprint(sc.pump.Sent()) })
}

// enough ends the load, unless it has ended.
func (sc *scene) enough() {
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
		HeldBytes: sc.setup.held, Dedupe: time.Hour, Session: sessionTimeout, Transaction: transactionTimeout,
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
	engine := must.Get(retrytopics.New(cfg))(sc.t)
	must.Do(sc.t, engine.CreateTopics(sc.ctx))
	p := sc.topics()
	want := append(p.Tiers, p.Source, p.Output, p.Audit, p.DLQ, cfg.Source+".ledger")
	if cfg.Ordering.Mode != retrytopics.OrderNone {
		want = append(want, cfg.Source+".state")
	}
	eventually.Until(sc.ctx, sc.t, "the new topics", func() (bool, string) { // a broker answers a creation before it shows the topic
		details, err := sc.log.Admin().ListTopics(sc.ctx, want...)
		if err == nil {
			err = details.Error()
		}
		return err == nil, fmt.Sprint(err)
	})
}

// pause lets the machinery run for a while: what is waited for has no sign of its
// own, or must not have one.
func (sc *scene) pause(d time.Duration) {
	select {
	case <-time.After(d):
	case <-sc.ctx.Done():
	}
}

// within is a random time up to d.
func (sc *scene) within(d time.Duration) time.Duration { return time.Duration(sc.rng.Int64N(int64(d))) }

// pick gives one of the instances that run, "" when none does.
func (sc *scene) pick() string {
	names := sc.fleet.names()
	if len(names) == 0 {
		return ""
	}
	return names[sc.rng.IntN(len(names))]
}

// progress waits until n more effects are to be seen: a fault that strikes a
// pipeline that does nothing proves nothing.
func (sc *scene) progress(n int) {
	sc.t.Helper()
	mark := len(sc.effect.Seen()) + n
	sc.effect.UntilCount(sc.ctx, sc.t, fmt.Sprintf("%d more effects (seed %d)", n, sc.seed), mark)
}

// calm ends the load and all faults, and lets every worker run.
func (sc *scene) calm() {
	sc.t.Helper()
	sc.heal()
	sc.enough()
	for _, name := range sc.setup.workers {
		sc.fleet.thaw(name)
		sc.fleet.start(name)
	}
}

// end lets the pipeline come to rest with all workers well, and judges it.
func (sc *scene) end() []lateness {
	sc.t.Helper()
	sc.calm()
	sc.drain()
	for _, name := range sc.fleet.names() {
		sc.fleet.stop(name)
	}
	for _, end := range sc.fleet.ends() {
		sc.t.Errorf("seed %d: a worker ended by itself: %s", sc.seed, end)
	}
	return sc.judge()
}

// heal fixes the network. Scenes without a proxy leave it to those with one.
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

// drain waits until the group has committed everything that there is. It takes as
// long as the machine takes; a pipeline that commits nothing for stallBound() is stuck.
func (sc *scene) drain() {
	sc.t.Helper()
	began := time.Now()
	moved, last := began, ""
	for left := sc.left(sc.ctx); left != ""; left = sc.left(sc.ctx) {
		if left != last {
			moved, last = time.Now(), left
		}
		if sc.ctx.Err() != nil || time.Since(moved) > stallBound() {
			sc.t.Errorf("seed %d: not done %v after the last fault, nothing moved for %v: %s",
				sc.seed, time.Since(began), time.Since(moved), last)
			return
		}
		sc.pause(200 * time.Millisecond)
	}
	sc.t.Logf("at rest %v after the last record", time.Since(began).Round(100*time.Millisecond))
}

// left says what the group has yet to commit. The commits are read before the
// ends: a record that a commit moves on is then at the latest among the ends.
func (sc *scene) left(ctx context.Context) string {
	p := sc.topics()
	committed, err := sc.log.Committed(ctx, p.Group)
	if err != nil {
		return err.Error()
	}
	ends, err := sc.log.Admin().ListEndOffsets(ctx, append(p.Tiers, p.Source)...)
	if err != nil {
		return err.Error()
	}
	var left []string
	for _, end := range ends.Offsets().Sorted() {
		at := committed[end.Topic][end.Partition]
		if at < end.At {
			left = append(left, fmt.Sprintf("%s/%d at %d of %d", end.Topic, end.Partition, at, end.At))
		}
	}
	return strings.Join(left, ", ")
}

// judge reads the topics and reports every breach of what the engine promises. It returns how late attempts began, by when they were due.
func (sc *scene) judge() []lateness {
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
	late := latenessOf(e.Calls)
	sc.t.Logf("%d records: %d delivered, %d dead, %d closed; %d retries, late p50 %v p99 %v",
		inputs, sum.Output, sum.Letters, sum.Closed, len(late), quantile(late, .5), quantile(late, .99))
	expect.That(sc.t, sum.Letters != 0 && sum.Closed != 0 && len(late) != 0, "seed %d: too little happened to prove anything", sc.seed)
	return late
}

// evidence reads what the judge is to see.
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

// planned returns what the handler makes of a record, in the words of the judge. Two records say the same when their bytes are the same.
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

// lateness is how long after it was due an attempt began.
type lateness struct {
	due  time.Time
	late time.Duration
}

// latenessOf returns the lateness of all attempts that had to wait, the shortest first.
func latenessOf(calls []judge.Call) (all []lateness) {
	for _, c := range calls {
		if !c.Due.IsZero() {
			all = append(all, lateness{c.Due, c.At.Sub(c.Due)})
		}
	}
	slices.SortFunc(all, func(a, b lateness) int { return cmp.Compare(a.late, b.late) })
	return all
}

// quantile returns the lateness that a share of sorted attempts does not exceed.
func quantile(all []lateness, q float64) time.Duration {
	if len(all) == 0 {
		return 0
	}
	return all[int(q*float64(len(all)-1))].late.Round(time.Millisecond)
}
