package simulate

import (
	"container/heap"
	"context"
	"math/rand/v2"
	"time"

	"golang.org/x/time/rate"

	"github.com/switchback-geo/switchback/internal/circuit"
	"github.com/switchback-geo/switchback/internal/quota"
	"github.com/switchback-geo/switchback/internal/tolerance"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// source is the tier of a record that has not been in any.
const source = -1

// item is one record on its way.
type item struct {
	home    *instance
	number  int   // in the order of arrival
	key     int   // none: it has one of its own
	place   int64 // in the order of its key, under strict order
	bad     bool
	attempt int // that is made, or comes next; from 1
	tier    int
	due     time.Time
	last    time.Duration // that it was to wait before the attempt
	begun   time.Duration // of the attempt
	asked   question
}

// exact plays every record and every request, one event after the other. Breakers, quotas, rate limits, gates and the order of
// keys are the code that a consumer runs, on a virtual clock.
type exact struct {
	w         *world
	rec       *recorder
	random    *rand.Rand
	now       time.Duration
	events    eventHeap
	made      int
	instances []*instance
	limits    []bucket // by provider
	keys      map[int]*keyed
	left      int // records that have arrived and are not finished
	arrivals  int
	ended     bool // no more arrive
	queued    int  // over all instances
	overdue   int
	standing  bool // a gate holds the pipeline
}

// instance is one consumer.
type instance struct {
	running     int
	runnable    []*item // from the source, and what was held
	due         []*item // from the tiers
	favour      bool
	dispatching bool
	lanes       []lane      // by provider
	holds       []*holdList // by step; nil: nothing is held
	gates       *tolerance.Gates
}

// lane is what an instance has of one provider.
type lane struct {
	circuit *circuit.Breaker // nil when there is none
	quota   *quota.Ledger
	limiter *rate.Limiter // nil when none is configured
	turns   int           // connections in use
	queue   []*item       // what waits for one
}

// seriesPoints is how many points the series of a run without its drain has.
const seriesPoints = 240

func newExact(w *world) *exact {
	x := &exact{
		w: w, rec: newRecorder(w, max(time.Second, w.Duration.Std()/seriesPoints), time.Millisecond), random: rand.New(rand.NewPCG(uint64(w.Seed), 1)),
		keys: map[int]*keyed{},
	}
	for range w.Instances {
		in := &instance{lanes: make([]lane, len(w.providers)), holds: make([]*holdList, len(w.steps)), gates: tolerance.New(w.sys.Tolerance)}
		for i, p := range w.providers {
			l := &in.lanes[i]
			l.quota = quota.New(w.sys.RetryAfterLimit, x.time)
			if p.Breaker != nil {
				l.circuit = circuit.New(*p.Breaker)
			}
			if p.Rate != nil {
				l.limiter = rate.NewLimiter(rate.Limit(p.Rate.PerSecond), p.Rate.Burst)
			}
		}
		x.instances = append(x.instances, in)
	}
	for _, p := range w.providers {
		x.limits = append(x.limits, newBucket(p.limit, 0))
	}
	return x
}

// time is the clock of everything that has one.
func (x *exact) time() time.Time { return start().Add(x.now) }

func (x *exact) run(ctx context.Context) (Report, error) {
	x.arrive(nil)
	for x.events.Len() > 0 && (x.left > 0 || !x.ended) {
		e := heap.Pop(&x.events).(event)
		if e.at > x.w.Duration.Std()+GiveUp {
			break
		}
		x.pass(e.at)
		e.what(e.item)
		x.rec.behind(x.now, float64(x.queued), float64(x.overdue))
		if x.made%4096 == 0 && ctx.Err() != nil {
			return Report{}, ctx.Err()
		}
	}
	if x.standing {
		x.pass(max(x.now, x.w.Duration.Std()))
	}
	x.rec.released(x.now, false, float64(x.queued))
	return x.rec.report(ModelExact, time.Millisecond, x.now, float64(x.left)), nil
}

// pass lets the time go on.
func (x *exact) pass(to time.Duration) {
	for p, l := range x.instances[0].lanes {
		if l.circuit != nil && l.circuit.IsOpen() {
			x.rec.requests[p].open += to - x.now
		}
	}
	x.now = to
	x.rec.to(x.now)
}

func (x *exact) after(d time.Duration, it *item, what func(*item)) {
	x.made++
	heap.Push(&x.events, event{at: x.now + d, number: x.made, what: what, item: it})
}

// event is something that happens to a record at a time.
type event struct {
	at     time.Duration
	number int // the earlier made one first among equals
	what   func(*item)
	item   *item
}

type eventHeap []event

func (h eventHeap) Len() int { return len(h) }
func (h eventHeap) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].number < h[j].number
}
func (h eventHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *eventHeap) Push(v any)   { *h = append(*h, v.(event)) }
func (h *eventHeap) Pop() any {
	old := *h
	e := old[len(old)-1]
	old[len(old)-1] = event{}
	*h = old[:len(old)-1]
	return e
}

// decision of a failed attempt is the engine's.
func (x *exact) decide(it *item, r reply) retrytopics.Decision {
	return x.w.sys.Decide(retrytopics.Tried{Attempts: it.attempt, LastDelay: it.last}, r.failure, x.time(), x.random.Float64)
}
