package simulate

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"golang.org/x/time/rate"

	"github.com/switchback-geo/switchback/internal/breaker"
	"github.com/switchback-geo/switchback/internal/enrich"
	"github.com/switchback-geo/switchback/internal/gates"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// source is the tier of a record that has not been in any.
const source = -1

// item is one record on its way.
type item struct {
	home    *instance
	number  int   // in the order of arrival
	key     int   // none: a separate key for each record
	place   int64 // in the order of its key, under strict order
	bad     bool
	attempt int // current or next one, from 1
	tier    int
	due     time.Time
	last    time.Duration // wait before the attempt
	begun   time.Duration // of the attempt
	stale   bool          // its last attempt began before the gates were reset
	request question
}

// simulation plays every record and every request, one event after the other. Breakers, quotas, rate limits, gates and
// the order of keys are the code that a consumer runs, on a virtual clock.
type simulation struct {
	w         *world
	rec       *recorder
	random    *rand.Rand
	now       time.Duration
	events    agenda
	pushed    int
	instances []*instance
	limits    []*rate.Limiter // of the providers themselves
	keys      map[int]*keyed
	left      int // records that have arrived and are not finished
	arrivals  int
	ended     bool // no more arrive
	queued    int  // over all instances
	overdue   int
	paused    bool // a gate has paused the pipeline
	work      int  // events, and started records, deferred ones each time
}

// instance is one consumer.
type instance struct {
	running        int
	runnable       queue // from the source, and records that were deferred before
	due            queue // from the tiers
	favour         bool
	dispatching    bool
	providerStates []providerState // by provider
	deferred       []*deferredList // by step; nil: nothing is deferred
	gates          *gates.Gates
}

// providerState is an instance's view of one provider.
type providerState struct {
	circuit *breaker.Circuit // nil if there is none
	quota   *enrich.QuotaLedger
	limiter *rate.Limiter // nil when none is configured
	turns   int           // connections in use
	queue   []*item       // waiting for a connection
}

// seriesPoints is the number of points in the series of a run without its drain.
const seriesPoints = 240

func newSimulation(w *world) *simulation {
	x := &simulation{
		w: w, rec: newRecorder(w, max(time.Second, w.Duration.Std()/seriesPoints)), random: rand.New(rand.NewPCG(uint64(w.Seed), 1)),
		keys: map[int]*keyed{},
	}
	for range w.Instances {
		in := &instance{providerStates: make([]providerState, len(w.providers)), deferred: make([]*deferredList, len(w.steps)), gates: gates.New(w.sys.Tolerance)}
		for i, p := range w.providers {
			l := &in.providerStates[i]
			l.quota = enrich.NewQuotaLedger(w.sys.RetryAfterLimit, x.time)
			if p.Breaker != nil {
				l.circuit = breaker.NewCircuit(*p.Breaker)
			}
			if p.Rate != nil {
				l.limiter = rate.NewLimiter(rate.Limit(p.Rate.PerSecond), p.Rate.Burst)
			}
		}
		x.instances = append(x.instances, in)
	}
	for _, p := range w.providers {
		x.limits = append(x.limits, p.limit.limiter())
	}
	return x
}

// time returns the virtual time, for components that need a clock.
func (x *simulation) time() time.Time { return start().Add(x.now) }

// run plays all events, within a budget of events and started records.
func (x *simulation) run(ctx context.Context, budget int) (Report, error) {
	x.arrive(nil)
	for n := 0; len(x.events.events) > 0 && (x.left > 0 || !x.ended); n++ {
		x.work++
		e := x.events.pop()
		if e.at > x.w.Duration.Std()+GiveUp {
			break
		}
		if x.work > budget {
			return Report{}, tooManyEvents(x.w, budget, x.now)
		}
		x.pass(e.at)
		e.what(e.item)
		x.rec.behind(x.now, float64(x.queued), float64(x.overdue))
		if n%4096 == 0 && ctx.Err() != nil {
			return Report{}, ctx.Err()
		}
	}
	if x.paused {
		x.pass(max(x.now, x.w.Duration.Std()))
	}
	x.rec.released(x.now, false, float64(x.queued))
	return x.rec.report(x.now, float64(x.left)), nil
}

// pass advances the time.
func (x *simulation) pass(to time.Duration) {
	for p, l := range x.instances[0].providerStates {
		if l.circuit != nil && l.circuit.IsOpen() {
			x.rec.requests[p].open += to - x.now
		}
	}
	x.now = to
	x.rec.to(x.now)
}

func (x *simulation) after(d time.Duration, it *item, what func(*item)) {
	x.pushed++
	x.events.push(event{at: x.now + d, number: x.pushed, what: what, item: it})
}

// decide returns the engine's decision about a failed attempt.
func (x *simulation) decide(it *item, r reply) policy.Decision {
	return x.w.sys.Decide(policy.Tried{Attempts: it.attempt, LastDelay: it.last}, r.failure, x.time(), x.random.Float64)
}

// GiveUp is how long after the last arrival a simulation continues while records wait. A backlog that is not drained by
// then never will be: a provider that never answers keeps its breaker open.
const GiveUp = 24 * time.Hour

// Run simulates a scenario. It returns the context's error if that ends first, and a *TooMuchError if the scenario is
// too large. Equal systems, scenarios and seeds give equal reports.
func Run(ctx context.Context, sys System, s Scenario) (Report, error) {
	w := newWorld(sys, s)
	if err := w.tooLarge(); err != nil {
		return Report{}, err
	}
	return newSimulation(w).run(ctx, mostEvents)
}

// Bounds of the work of a simulation. They count work and not time, so that a scenario has the same result on every
// machine.
const (
	mostRecords = 2_000_000  // each is in memory while it waits
	mostEvents  = 30_000_000 // and attempts
	mostPoints  = 4096       // of the series; then two become one
)

// TooMuchError means that a simulation would take too long or too much memory, and suggests what to change.
type TooMuchError struct{ What, Fix string }

// Error returns the reason and the remedy.
func (e *TooMuchError) Error() string { return "the simulation is too large: " + e.What + "; " + e.Fix }

// tooLarge returns the excess that is known before the simulation starts, or nil.
func (w *world) tooLarge() error {
	records := w.Rate * w.Duration.Std().Seconds()
	if records > mostRecords {
		return &TooMuchError{
			fmt.Sprintf("up to %d records can be simulated, and %.4g are to come", mostRecords, records),
			"lower duration, or simulate one instance with its share of rate and of the provider's limit",
		}
	}
	return nil
}

// tooManyEvents returns the error of a run with this many events.
func tooManyEvents(w *world, n int, now time.Duration) error {
	return &TooMuchError{
		fmt.Sprintf("%d events and attempts have been simulated up to %v, while records arrive until %v and the rest is then drained", n, now.Round(time.Second), w.Duration),
		"lower rate, duration or instances",
	}
}
