package simulate

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// fluid moves expected amounts of records in steps of time. All instances are taken to be alike.
//
// Its error: times are off by up to a step (Report.Step); amounts are means, so a single run of the real thing scatters
// around them by about the square root of the amount; and every instance's breaker opens at the same time, drawn from the
// chances of one.
type fluid struct {
	w       *world
	rec     *recorder
	random  *rand.Rand
	step    time.Duration
	kernels *kernels

	now      time.Duration
	at       int         // number of the step
	coming   [][]float64 // by step modulo its length, by state: what becomes due then
	moving   [][]move    // the same for what is parked then; share is an amount
	backlog  float64     // of the source
	ready    []cohort    // due retries, the longest due first
	readySum float64
	inTiers  float64 // on the way to become due
	limits   []bucket
	circuits []*fleet  // by provider; nil: it has no breaker
	attempts []float64 // scratch, by state
}

// cohort is what became due in one step.
type cohort struct {
	at     int
	state  int
	amount float64
}

// Bounds of a step. It is a part of the shortest tier, as far as the number of steps allows, which bounds the cost.
const (
	stepsOfRun   = 200_000 // without its drain
	stepsOfWaits = 20_000  // the same where decisions depend on the wait before, and each kind of wait counts by itself
	shortestStep = 10 * time.Millisecond
	stepsOfTier  = 20
)

func stepOf(w *world) time.Duration {
	most := time.Duration(stepsOfRun)
	if w.sys.Remembers {
		most = stepsOfWaits
	}
	step := max(w.Duration.Std()/most, shortestStep)
	if len(w.sys.Tiers) > 0 {
		step = max(step, min(w.sys.Tiers[0].Delay/stepsOfTier, 100*time.Millisecond))
	}
	return step.Round(time.Millisecond)
}

func newFluid(w *world) *fluid {
	step := stepOf(w)
	slot := max(time.Second, w.Duration.Std()/seriesPoints).Truncate(step) + step
	f := &fluid{
		w: w, rec: newRecorder(w, slot), random: rand.New(rand.NewPCG(uint64(w.Seed), 2)), step: step, kernels: newKernels(w, step),
		coming: make([][]float64, 1024), moving: make([][]move, 1024),
	}
	for _, p := range w.providers {
		f.limits = append(f.limits, newBucket(p.limit))
		f.circuits = append(f.circuits, newFleet(p.breaker))
	}
	return f
}

// Amounts that count as none. Where ln 2 records are expected there is none as often as not, so the drain ends there, as
// the median run does. What is less than rounding makes of all that arrived is not worth a step.
const (
	nobody  = math.Ln2
	nothing = 1e-12
)

func (f *fluid) run(ctx context.Context) (Report, error) {
	for ; ; f.at++ {
		f.now = time.Duration(f.at) * f.step
		f.rec.to(f.now)
		left := f.backlog + f.readySum + f.inTiers
		if left >= nobody {
			f.rec.last = f.now
		}
		if end := f.w.Duration.Std(); f.now >= end && (left < max(1e-6, nothing*f.rec.total.arrived) || f.now > end+GiveUp) {
			if left < nobody {
				left = 0
			}
			return f.rec.report(ModelFluid, f.step, f.now, left), nil
		}
		if f.at%4096 == 0 && ctx.Err() != nil {
			return Report{}, ctx.Err()
		}
		f.arrive()
		f.surface()
		if !f.blocked() {
			f.serve()
		}
		f.rec.behind(f.now+f.step, f.backlog, f.readySum)
	}
}

// arrive takes what comes in a step.
func (f *fluid) arrive() {
	span := min(f.step, f.w.Duration.Std()-f.now)
	if span <= 0 {
		return
	}
	n := f.w.Rate * span.Seconds()
	f.rec.total.arrived += n
	f.backlog += n
}

// surface makes what is due in this step ready, and parks what surfaces too early.
func (f *fluid) surface() {
	slot := f.at % len(f.coming)
	for s, n := range f.coming[slot] {
		if n > 0 {
			f.ready = append(f.ready, cohort{f.at, s, n})
			f.readySum += n
			f.inTiers -= n
		}
	}
	clear(f.coming[slot])
	for _, m := range f.moving[slot] {
		f.rec.wait(f.now, m.from, -m.share)
		f.rec.wait(f.now, m.to, m.share)
	}
	f.moving[slot] = f.moving[slot][:0]
}

// serve makes as many attempts as the fleet can in a step.
func (f *fluid) serve() {
	capacity := f.capacity()
	fresh, retried := f.backlog, f.readySum
	if fresh+retried > capacity { // in turn from the source and the tiers, as the engine does it
		fresh = min(fresh, max(capacity/2, capacity-retried))
		retried = min(retried, capacity-fresh)
	}
	f.attempts = slices.Grow(f.attempts[:0], len(f.kernels.states))[:len(f.kernels.states)]
	clear(f.attempts)
	f.attempts[0] = fresh
	f.backlog -= fresh
	f.takeReady(retried)
	f.attempt()
}

// takeReady takes due retries, those that have been due for longest first.
func (f *fluid) takeReady(amount float64) {
	taken := 0
	for i := range f.ready {
		c := &f.ready[i]
		n := min(c.amount, amount)
		if n <= 0 {
			break
		}
		amount -= n
		c.amount -= n
		f.readySum -= n
		f.attempts[c.state] += n
		f.rec.wait(f.now, f.kernels.states[c.state].tier, -n)
		f.rec.late(n, time.Duration(f.at-c.at)*f.step)
		if c.amount > 0 {
			break
		}
		taken++
	}
	if f.ready = f.ready[taken:]; len(f.ready) == 0 {
		f.readySum = 0 // what rounding left
	}
}

// capacity is how many attempts the fleet can make in a step: by its slots, and by the connections of each step.
func (f *fluid) capacity() float64 {
	instances := float64(f.w.Instances)
	work, reached, most := 0.0, 1.0, math.Inf(1)
	for i := range f.w.providers {
		p := &f.w.providers[i]
		each, through := f.mean(p)
		work += reached * each
		if p.connections > 0 && each > 0 {
			most = min(most, instances*float64(p.connections)*f.step.Seconds()/(reached*each))
		}
		reached *= through
	}
	if work > 0 {
		most = min(most, instances*float64(f.w.sys.Concurrency)*f.step.Seconds()/work)
	}
	return most
}

// mean gives how many seconds a request to a provider takes on average now, and what share of them succeeds, its rate limit
// left out.
func (f *fluid) mean(p *provider) (seconds, through float64) {
	left := 1.0
	for _, o := range p.outages {
		if o.at(f.now) {
			seconds += left * o.share * f.w.replies[o.reply].latency.Seconds()
			left *= 1 - o.share
		}
	}
	if e := p.errors.share; e > 0 {
		seconds += left * e * f.w.replies[p.errors.reply].latency.Seconds()
		left *= 1 - e
	}
	return seconds + left*p.latency.Seconds(), left
}

// attempt sends what was taken to one provider after the other.
func (f *fluid) attempt() {
	f.fail(f.w.bad, f.w.BadRecords, true)
	for p := range f.w.providers {
		f.ask(p)
	}
	if n := f.sum(); n > 0 {
		f.rec.delivered(f.now, n)
	}
}

// sum gives how much is under way.
func (f *fluid) sum() (n float64) {
	for _, amount := range f.attempts {
		n += amount
	}
	return n
}

// ask sends everything that is under way to a provider, and takes out what fails there.
func (f *fluid) ask(p int) {
	all := f.sum()
	if all == 0 {
		return
	}
	service := &f.w.providers[p]
	f.rec.request(f.now, p, all)
	for _, o := range service.outages {
		if o.at(f.now) {
			f.answer(p, o.reply, o.share)
		}
	}
	if service.limit != nil {
		asked := f.sum()
		if passed := f.limits[p].take(f.now, asked); passed < asked {
			f.rec.requests[p].refused += asked - passed
			f.answer(p, service.limited, 1-passed/asked)
		}
	}
	if service.errors.share > 0 {
		f.answer(p, service.errors.reply, service.errors.share)
	}
}

// answer gives a share of what is under way one reply. The breaker may make holds of a part of them.
func (f *fluid) answer(p, reply int, share float64) {
	all := f.sum()
	if all == 0 || share == 0 {
		return
	}
	if f.w.replies[reply].down {
		spent := f.circuits[p].asked(f.now, all/float64(f.w.Instances), share, f.random)
		f.giveBack(share * (1 - spent))
		share *= spent / max(1-share*(1-spent), math.SmallestNonzeroFloat64)
	}
	f.fail(reply, share, false)
}

// giveBack holds a share of what is under way: it has spent no attempt and is ready as before.
func (f *fluid) giveBack(share float64) {
	if share <= 0 {
		return
	}
	var held []cohort
	for s, n := range f.attempts {
		back := n * share
		if back == 0 {
			continue
		}
		f.attempts[s] -= back
		if s == 0 {
			f.backlog += back
			continue
		}
		held = append(held, cohort{f.at, s, back})
		f.readySum += back
		f.rec.wait(f.now, f.kernels.states[s].tier, back)
	}
	f.ready = append(held, f.ready...)
}

// fail lets the engine's decision take a share of what is under way to its tiers or to the DLQ. Only fresh records are bad
// for reasons of their own: the others have shown that they are not.
func (f *fluid) fail(reply int, share float64, freshOnly bool) {
	if share <= 0 {
		return
	}
	failure := f.w.replies[reply].failure
	for s := range f.attempts {
		n := f.attempts[s] * share
		if n == 0 || freshOnly && s != 0 {
			continue
		}
		f.attempts[s] -= n
		k := f.kernels.of(s, reply)
		if k.dead > 0 {
			f.rec.failed(f.now, n*k.dead, failure, retrytopics.OutcomeDeadLettered, k.reason)
		}
		if len(k.flows) > 0 {
			f.rec.failed(f.now, n*(1-k.dead), failure, retrytopics.OutcomeRetried, "")
			f.retry(k, n)
		}
	}
}

// reach makes room for what becomes due so many steps from now.
func (f *fluid) reach(after int) {
	if after < len(f.coming) {
		return
	}
	size := len(f.coming)
	for size <= after {
		size *= 2
	}
	coming, moving := make([][]float64, size), make([][]move, size)
	for n := range len(f.coming) {
		from, to := (f.at+n)%len(f.coming), (f.at+n)%size
		coming[to], moving[to] = f.coming[from], f.moving[from]
	}
	f.coming, f.moving = coming, moving
}

// sortFlows puts a kernel into an order, so that sums are the same in every run.
func sortFlows(k *kernel) {
	slices.SortFunc(k.flows, func(a, b flow) int { return cmp.Or(cmp.Compare(a.after, b.after), cmp.Compare(a.to, b.to)) })
	slices.SortFunc(k.moves, func(a, b move) int {
		return cmp.Or(cmp.Compare(a.after, b.after), cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to))
	})
}
