package simulate

import (
	"math"
	"time"

	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// samples is how many draws stand for the randomness of one decision. They are spread evenly, so that the mean of a
// uniform delay is exact and its spread is off by less than one in samples².
const samples = 128

// state is what all records have in common that wait for the same attempt in the same tier.
type state struct {
	attempt int           // that comes next
	tier    int           // source: not in any
	last    time.Duration // that it was to wait, rounded; 0 where no decision depends on it
	missed  int           // the latest provider in whose cache the answer is not, and one; 0: none
}

// flow is a share of what fails, and where it goes.
type flow struct {
	share float64
	to    int // index of a state
	after int // steps until it is due
}

// move is a share that changes its tier on the way: it is parked.
type move struct {
	share    float64
	from, to int // tiers
	after    int
}

// kernel is what the engine decides about records of one state that get one reply, spread over the steps to come.
type kernel struct {
	flows  []flow
	moves  []move
	first  []float64 // share that goes into each tier at first
	dead   float64
	reason retrytopics.Reason // of the dead ones
	last   int                // steps until all of it is due
	parked float64            // parkings per record
	again  []float64          // of them, by tier, into the tier that it was in
}

// kernels asks the engine once for each state and reply, and remembers the answer: decisions do not depend on the time of
// day, only on the time that has passed.
type kernels struct {
	w      *world
	step   time.Duration
	states []state
	index  map[state]int
	known  map[[2]int]*kernel
	looked int   // at parkings
	err    error // of a wait that is parked too often
}

func newKernels(w *world, step time.Duration) *kernels {
	k := &kernels{w: w, step: step, index: map[state]int{}, known: map[[2]int]*kernel{}}
	k.intern(state{attempt: 1, tier: source})
	return k
}

// intern gives the index of a state.
func (k *kernels) intern(s state) int {
	i, ok := k.index[s]
	if !ok {
		i = len(k.states)
		k.states, k.index[s] = append(k.states, s), i
	}
	return i
}

// of gives the kernel of a state and a reply.
func (k *kernels) of(s, reply int) *kernel {
	at := [2]int{s, reply}
	if known := k.known[at]; known != nil {
		return known
	}
	made := k.make(k.states[s], reply)
	k.known[at] = made
	return made
}

func (k *kernels) make(s state, reply int) *kernel {
	made := &kernel{first: make([]float64, len(k.w.sys.Tiers)), again: make([]float64, len(k.w.sys.Tiers))}
	flows, moves := map[flow]float64{}, map[move]float64{}
	f := k.w.replies[reply]
	for n := range samples {
		d := k.w.sys.Decide(retrytopics.Tried{Attempts: s.attempt, LastDelay: s.last}, f.failure, start(), even(n))
		if d.Outcome != retrytopics.OutcomeRetried {
			made.dead += 1.0 / samples
			made.reason = d.Reason
			continue
		}
		made.first[d.Tier] += 1.0 / samples
		tier, now := d.Tier, start()
		for {
			now = k.w.sys.Wake(tier, d.Due, now)
			next, run := retrytopics.Surface(k.w.sys.Tiers, d.Due, now)
			if run {
				break
			}
			if k.looked++; k.looked > mostParkings {
				k.err = k.w.tooManyParkings(d.Due.Sub(start()))
				return made
			}
			made.parked += 1.0 / samples
			if next.Tier == tier {
				made.again[tier] += 1.0 / samples
				continue
			}
			k.split(now.Sub(start())+f.latency, func(after int, share float64) { moves[move{from: tier, to: next.Tier, after: after}] += share })
			tier = next.Tier
		}
		to := k.intern(state{s.attempt + 1, tier, k.remembered(d.Due.Sub(start())), s.missed})
		k.split(d.Due.Sub(start())+f.latency, func(after int, share float64) { flows[flow{to: to, after: after}] += share })
	}
	for fl, share := range flows {
		fl.share = share
		made.flows = append(made.flows, fl)
		made.last = max(made.last, fl.after)
	}
	for m, share := range moves {
		m.share = share
		made.moves = append(made.moves, m)
	}
	sortFlows(made)
	return made
}

// grain is the ratio between two waits that count as the same where decisions depend on them.
const grain = 1.25

// remembered rounds a wait to the nearest power of grain.
func (k *kernels) remembered(last time.Duration) time.Duration {
	if !k.w.sys.Remembers || last <= 0 {
		return 0
	}
	return time.Duration(math.Pow(grain, math.Round(math.Log(float64(last))/math.Log(grain))))
}

// split shares one sample among the two steps that its time lies between, so that the mean time stays what it is.
func (k *kernels) split(d time.Duration, put func(after int, share float64)) {
	steps := float64(d) / float64(k.step)
	whole := math.Floor(steps)
	if part := steps - whole; part > 0 {
		put(int(whole)+1, part/samples)
		put(int(whole), (1-part)/samples)
		return
	}
	put(int(whole), 1.0/samples)
}

// even gives draws that are spread evenly over all samples: the Hammersley points of sample n, one coordinate a call.
func even(n int) func() float64 {
	bases := []int{0, 2, 3, 5, 7}
	calls := 0
	return func() float64 {
		base := bases[min(calls, len(bases)-1)]
		calls++
		if base == 0 {
			return (float64(n) + 0.5) / samples
		}
		x, scale := 0.0, 1/float64(base)
		for m := n; m > 0; m /= base {
			x += float64(m%base) * scale
			scale /= float64(base)
		}
		return x
	}
}
