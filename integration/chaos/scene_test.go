//go:build unix

package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/integration/chaos/check"
	"github.com/switchback-geo/switchback/integration/chaos/feed"
	"github.com/switchback-geo/switchback/integration/chaos/worker"
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
func (sc *scene) end() *check.History {
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

// judge reads the topics and reports every breach of what the engine promises.
func (sc *scene) judge() *check.History {
	sc.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), judgeBound())
	defer cancel()
	places := must.Get(conservation.Take(ctx, sc.log, sc.topics()))(sc.t)
	places.Verify(sc.t)
	sc.verify(ctx)
	p := check.Pipeline{Source: sc.base.Source, Output: sc.base.Output, Journal: sc.base.Journal, Order: string(sc.base.Order), Attempts: sc.base.Attempts}
	for _, tier := range sc.base.Tiers() {
		p.Tiers = append(p.Tiers, check.Tier{Topic: tier.Topic, Delay: tier.Delay})
	}
	history := must.Get(check.Read(ctx, sc.log, p))(sc.t)
	faults := history.Faults()
	expect.That(sc.t, len(faults) <= 0, "seed %d: %d faults", sc.seed, len(faults))
	const mostShown = 5
	for _, f := range faults[:min(len(faults), mostShown)] {
		sc.t.Errorf("seed %d: %s: %s\n%s%s", sc.seed, f.Source, f.What, history.Journey(f.Source), places.Journey(f.Source))
	}
	inputs, sum := places.Totals()
	expect.That(sc.t, inputs == sc.sent, "seed %d: %d records are in the source, %d were acknowledged", sc.seed, inputs, sc.sent)
	p50, retries := history.Lateness(.5)
	p99, _ := history.Lateness(.99)
	sc.t.Logf("%d records: %d delivered, %d dead, %d closed; %d retries, late p50 %v p99 %v",
		inputs, sum.Output, sum.Letters, sum.Closed, retries, p50.Round(time.Millisecond), p99.Round(time.Millisecond))
	expect.That(sc.t, sum.Letters != 0 && sum.Closed != 0 && retries != 0, "seed %d: too little happened to prove anything", sc.seed)
	return history
}
