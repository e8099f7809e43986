package simulate

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"time"
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
	moving   [][]float64 // the same by tier, for what is parked then: what leaves it, and what comes into it
	backlog  float64     // of the source
	ready    crowd       // due retries, the longest due first
	inTiers  float64     // on the way to become due
	held     []pool      // by step of the pipeline: what nobody may be asked for
	freed    pool        // what was held, and may go on
	lines    []line      // by provider
	attempts []float64   // what is under way, by state
	gate     gate
	each     int // work of a step in which nothing is begun
	work     int // so far
}

// line is what all instances have of one provider.
type line struct {
	fleet  *fleet        // nil: it has no breaker
	limit  bucket        // the provider's own
	rate   bucket        // the clients', together
	paused time.Duration // nothing is sent before
}

// Bounds of a step. It is a part of the shortest tier, as far as the number of steps allows, which bounds the cost.
const (
	stepsOfRun   = 200_000 // without its drain
	stepsOfWaits = 20_000  // the same where decisions depend on the wait before, and each kind of wait counts by itself
	shortestStep = 10 * time.Millisecond
	stepsOfTier  = 20
	fewestSteps  = 1000 // of a run, however much work each of them is
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

// longestStep is the longest one that says something still: half of the shortest tier, if the run has that many.
func longestStep(w *world) time.Duration {
	longest := max(stepOf(w), w.Duration.Std()/fewestSteps)
	if len(w.sys.Tiers) > 0 {
		longest = max(longest, w.sys.Tiers[0].Delay/2)
	}
	return longest.Round(time.Millisecond)
}

// runFluid plays a scenario, and again in longer steps when it was too much work. What cannot be drained so either is left.
func runFluid(ctx context.Context, w *world) (Report, error) {
	for step := stepOf(w); ; {
		f := newFluid(w, step)
		if err := f.run(ctx); err != nil {
			return Report{}, err
		}
		if !f.tooMuch() {
			return f.report(), nil
		}
		longest := longestStep(w)
		switch {
		case f.kernels.err != nil:
			return Report{}, f.kernels.err
		case step < longest:
			all := w.Duration.Std() + GiveUp
			step = min(longest, step*time.Duration(max(2, math.Ceil(1.2*float64(all)/float64(f.now+1)))))
		case f.now > w.Duration.Std():
			return f.report(), nil
		default:
			return Report{}, w.tooMuchWork(f.now, step)
		}
	}
}

func newFluid(w *world, step time.Duration) *fluid {
	slot := max(time.Second, w.Duration.Std()/seriesPoints).Truncate(step) + step
	f := &fluid{
		w: w, rec: newRecorder(w, slot, step), random: rand.New(rand.NewPCG(uint64(w.Seed), 2)), step: step, kernels: newKernels(w, step),
		coming: make([][]float64, 1024), moving: make([][]float64, 1024), gate: newGate(w),
		ready: crowd{most: mostInOrder}, freed: newPool(),
	}
	for range w.steps {
		f.held = append(f.held, newPool())
	}
	f.each = 16 + len(w.steps)
	for _, p := range w.providers {
		f.each += 8 + len(p.outages)
		l := line{fleet: newFleet(p.Breaker), limit: newBucket(p.limit, step)}
		if p.Rate != nil {
			l.rate = newBucket(&RateLimit{PerSecond: p.Rate.PerSecond * float64(w.Instances), Burst: float64(p.Rate.Burst * w.Instances)}, step)
		}
		f.lines = append(f.lines, l)
	}
	return f
}

// Amounts that count as none. Where ln 2 records are expected there is none as often as not, so the drain ends there, as
// the median run does. What is less than rounding makes of all that arrived is not worth a step.
const (
	nobody  = math.Ln2
	nothing = 1e-12
)

// run plays steps until there is nothing more to see, or it was too much.
func (f *fluid) run(ctx context.Context) error {
	for !f.done() && !f.tooMuch() {
		if f.at%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		f.tick()
	}
	return nil
}

// tooMuch says whether it was more work, or takes more memory, than a simulation may.
func (f *fluid) tooMuch() bool {
	return f.work > mostWork || f.kernels.err != nil || len(f.coming)*len(f.kernels.states) > mostDueLater
}

func (f *fluid) report() Report {
	left := f.left()
	if left < nobody {
		left = 0
	}
	f.rec.released(f.now, false, f.inSource())
	f.rec.coarse = max(f.ready.grain, f.freed.dues.grain)
	return f.rec.report(ModelFluid, f.step, f.now, left)
}

// left is what is not finished.
func (f *fluid) left() float64 { return f.inHand() + f.inTiers }

// done moves the recorder to now and says whether there is nothing more to see.
func (f *fluid) done() bool {
	f.rec.to(f.now)
	left := f.left()
	if left >= nobody {
		f.rec.last = f.now
	}
	return f.over(left)
}

// tick plays one step of time.
func (f *fluid) tick() {
	f.work += f.each
	f.arrive()
	f.surface()
	if f.goesOn() && !f.blocked() {
		f.letGo()
		f.serve()
	}
	fresh := f.inSource()
	f.rec.behind(f.now+f.step, fresh, f.inHand()-fresh)
	f.at++
	f.now = time.Duration(f.at) * f.step
}

func (f *fluid) over(left float64) bool {
	end := f.w.Duration.Std()
	idle := left < max(1e-6, nothing*f.rec.total.arrived) || f.gate.standing && f.w.ResumeAfter == 0
	return f.now >= end && (idle || f.now > end+GiveUp)
}

// inHand is what should have begun by now, and has not.
func (f *fluid) inHand() float64 {
	n := f.backlog + f.ready.sum + f.freed.sum
	for i := range f.held {
		n += f.held[i].sum
	}
	return n
}

// inSource is the part of it that waits for its first attempt.
func (f *fluid) inSource() float64 {
	n := f.backlog
	count := func(p *pool) {
		for s, amount := range p.amounts {
			if f.fresh(s) {
				n += amount
			}
		}
	}
	count(&f.freed)
	for i := range f.held {
		count(&f.held[i])
	}
	return n
}

// fresh says whether records of a state have not been in a tier.
func (f *fluid) fresh(state int) bool { return f.kernels.states[state].tier == source }

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
			f.ready.add(f.at, newCohort(f.at, s, n), len(f.kernels.states))
			f.inTiers -= n
		}
	}
	clear(f.coming[slot])
	for i, n := range f.moving[slot] {
		if n > 0 && i%2 == leaves {
			f.rec.wait(f.now, i/2, -n)
		} else if n > 0 {
			f.rec.wait(f.now, i/2, n)
		}
	}
	clear(f.moving[slot])
}

// letGo makes what was held for a step ready again, once somebody may be asked for it.
func (f *fluid) letGo() {
	for s := range f.held {
		p := &f.held[s]
		if p.sum == 0 || f.nobody(s) {
			continue
		}
		f.backlog += p.amounts[0]
		p.sum -= p.amounts[0]
		p.amounts[0] = 0
		p.pour(f.at, &f.freed)
	}
}

// serve makes as many attempts as the fleet can in a step.
func (f *fluid) serve() {
	capacity := f.capacity()
	fresh, retried := f.backlog+f.freed.sum, f.ready.sum
	if fresh+retried > capacity { // in turn from the source and the tiers, as the engine does it
		fresh = min(fresh, max(capacity/2, capacity-retried))
		retried = min(retried, capacity-fresh)
	}
	f.attempts = slices.Grow(f.attempts[:0], len(f.kernels.states))[:len(f.kernels.states)]
	clear(f.attempts)
	f.work += len(f.attempts)*(2+3*len(f.w.providers)) + len(f.freed.dues.cohorts)
	f.takeFresh(fresh)
	f.takeReady(retried)
	f.attempt()
}

// takeFresh takes from the source and from what was held, in the proportion in which they are there: they stand in one queue.
func (f *fluid) takeFresh(amount float64) {
	all := f.backlog + f.freed.sum
	if all <= 0 {
		return
	}
	share := min(1, amount/all)
	f.attempts[0] += f.backlog * share
	f.backlog -= f.backlog * share
	if f.freed.sum > 0 {
		f.freed.take(share, f.begin, f.late)
	}
}

// begin takes records of a state into work.
func (f *fluid) begin(state int, n float64) {
	f.attempts[state] += n
	if !f.fresh(state) {
		f.rec.wait(f.now, f.kernels.states[state].tier, -n)
	}
}

// late notes that records begin now that became due in a step.
func (f *fluid) late(at, n float64) {
	f.rec.late(n, time.Duration(math.Round(float64(f.at)-at))*f.step)
}

// takeReady takes due retries, those that have been due for longest first.
func (f *fluid) takeReady(amount float64) {
	f.ready.take(amount, func(c cohort, n float64) {
		if f.begin(c.state, n); !f.fresh(c.state) {
			f.late(c.at, n)
		}
	})
}
