package simulate

import (
	"container/heap"
	"context"
	"math/rand/v2"
	"time"

	"github.com/switchback-geo/switchback/internal/circuit"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// source is the tier of a record that has not been in any.
const source = -1

// item is one record on its way.
type item struct {
	home    *instance
	bad     bool
	attempt int // that is made, or comes next; from 1
	tier    int
	due     time.Time
	last    time.Duration // that it was to wait before the attempt
	begun   time.Duration // of the attempt
	pass    pass
}

// pass is what a request took from its circuit breaker, and what it will be told.
type pass struct {
	circuit.Pass
	reply int // -1: a good answer
}

// event is something that happens to a record at a time.
type event struct {
	at     time.Duration
	number int // the earlier made one first among equals
	what   func(*item)
	item   *item
}

// exact plays every record and every request, one event after the other.
type exact struct {
	w         *world
	rec       *recorder
	random    *rand.Rand
	now       time.Duration
	events    eventHeap
	made      int
	instances []*instance
	limits    []bucket // by provider
	left      int      // records that have arrived and are not finished
	arrivals  int
	ended     bool // no more arrive
	queued    int  // over all instances
	overdue   int
}

// instance is one consumer.
type instance struct {
	running     int
	runnable    []*item // from the source, and what was held
	due         []*item // from the tiers
	favour      bool
	dispatching bool
	circuits    []*circuit.Breaker // by provider; nil: it has none
	turns       []int              // connections in use, by provider
	queues      [][]*item          // what waits for a connection, by provider
	holds       []*holdList        // by provider; nil: nothing is held
}

// holdList is what waits for a provider that is down (retrytopics.HoldError).
type holdList struct {
	until   time.Duration
	timed   time.Duration // for when the next probe is set
	items   []*item
	probing *item
}

// seriesPoints is how many points the series of a run without its drain has.
const seriesPoints = 240

func newExact(w *world) *exact {
	x := &exact{
		w: w, rec: newRecorder(w, max(time.Second, w.Duration.Std()/seriesPoints)), random: rand.New(rand.NewPCG(uint64(w.Seed), 1)),
	}
	for range w.Instances {
		in := &instance{
			circuits: make([]*circuit.Breaker, len(w.providers)), turns: make([]int, len(w.providers)), queues: make([][]*item, len(w.providers)),
			holds: make([]*holdList, len(w.providers)),
		}
		for i, p := range w.providers {
			if p.breaker != nil {
				in.circuits[i] = circuit.New(*p.breaker)
			}
		}
		x.instances = append(x.instances, in)
	}
	for _, p := range w.providers {
		x.limits = append(x.limits, newBucket(p.limit))
	}
	return x
}

func (x *exact) run(ctx context.Context) (Report, error) {
	x.arrive(nil)
	for x.events.Len() > 0 && (x.left > 0 || !x.ended) {
		e := heap.Pop(&x.events).(event)
		if e.at > x.w.Duration.Std()+GiveUp {
			break
		}
		for p, c := range x.instances[0].circuits {
			if c != nil && c.IsOpen() {
				x.rec.requests[p].open += e.at - x.now
			}
		}
		x.now = e.at
		x.rec.to(x.now)
		e.what(e.item)
		x.rec.behind(x.now, float64(x.queued), float64(x.overdue))
		if x.made%4096 == 0 && ctx.Err() != nil {
			return Report{}, ctx.Err()
		}
	}
	return x.rec.report(ModelExact, time.Millisecond, x.now, float64(x.left)), nil
}

func (x *exact) after(d time.Duration, it *item, what func(*item)) {
	x.made++
	heap.Push(&x.events, event{at: x.now + d, number: x.made, what: what, item: it})
}

// arrive takes the next record from the source and makes the arrival after it. The times between arrivals are exponentially
// distributed: many producers that know nothing of each other.
func (x *exact) arrive(it *item) {
	if it != nil {
		x.left++
		x.rec.total.arrived++
		x.offer(it)
	}
	next := time.Duration(x.random.ExpFloat64() / x.w.Rate * float64(time.Second))
	if x.ended = x.now+next >= x.w.Duration.Std(); x.ended {
		return
	}
	home := x.instances[x.arrivals%len(x.instances)]
	x.arrivals++
	x.after(next, &item{home: home, bad: x.random.Float64() < x.w.BadRecords, attempt: 1, tier: source}, x.arrive)
}

// offer makes a record runnable and starts what can be started.
func (x *exact) offer(it *item) {
	if it.tier == source {
		it.home.runnable = append(it.home.runnable, it)
	} else {
		it.home.due = append(it.home.due, it)
	}
	x.count(it, 1)
	x.dispatch(it.home)
}

// count notes a record that should have begun by now, and has not.
func (x *exact) count(it *item, n int) {
	if it.tier == source {
		x.queued += n
	} else {
		x.overdue += n
	}
}

// dispatch fills the free slots of an instance: from the source and from the tiers in turn, as the engine does it.
func (x *exact) dispatch(in *instance) {
	if in.dispatching {
		return // what called for it is inside the loop below, which goes on
	}
	in.dispatching = true
	defer func() { in.dispatching = false }()
	for in.running < x.w.sys.Concurrency && len(in.runnable)+len(in.due) > 0 {
		from := &in.runnable
		if len(in.due) > 0 && (in.favour || len(in.runnable) == 0) {
			from = &in.due
		}
		in.favour = from == &in.runnable
		it := (*from)[0]
		(*from)[0] = nil
		*from = (*from)[1:]
		in.running++
		x.count(it, -1)
		x.begin(it)
	}
}

// begin makes an attempt. Nothing is asked while any step's breaker is open.
func (x *exact) begin(it *item) {
	it.begun = x.now
	if it.bad {
		x.fail(it, x.w.bad)
		return
	}
	for p := range x.w.providers {
		if until, held := x.held(it.home, p); held {
			x.hold(it, p, until)
			return
		}
	}
	x.ask(it, 0)
}

// ask sends the request to provider p, once it has a connection.
func (x *exact) ask(it *item, p int) {
	if p == len(x.w.providers) {
		x.deliver(it)
		return
	}
	in := it.home
	if limit := x.w.providers[p].connections; limit > 0 && in.turns[p] == limit {
		in.queues[p] = append(in.queues[p], it)
		return
	}
	in.turns[p]++
	x.send(it, p)
}

// send asks the breaker and, when it allows it, the provider.
func (x *exact) send(it *item, p int) {
	if until, held := x.held(it.home, p); held {
		x.turnOver(it.home, p)
		x.hold(it, p, until)
		return
	}
	if c := it.home.circuits[p]; c != nil {
		it.pass.Pass = c.Enter()
	}
	x.rec.request(x.now, p, 1)
	it.pass.reply = x.reply(p)
	latency := x.w.providers[p].latency
	if it.pass.reply >= 0 {
		latency = x.w.replies[it.pass.reply].latency
	}
	x.after(latency, it, func(it *item) { x.answered(it, p) })
}

// held says whether an instance's breaker lets nothing pass to a provider now, and until when.
func (x *exact) held(in *instance, p int) (until time.Duration, held bool) {
	if in.circuits[p] == nil {
		return 0, false
	}
	wait, held := in.circuits[p].Held(x.now)
	return x.now + wait, held
}

// reply draws what a provider answers now; -1 is a good answer.
func (x *exact) reply(p int) int {
	service := &x.w.providers[p]
	for _, o := range service.outages {
		if o.at(x.now) && x.random.Float64() < o.share {
			return o.reply
		}
	}
	if !x.limits[p].takeOne(x.now) {
		x.rec.requests[p].refused++
		return service.limited
	}
	if x.random.Float64() < service.errors.share {
		return service.errors.reply
	}
	return -1
}

// answered takes the answer of provider p.
func (x *exact) answered(it *item, p int) {
	in := it.home
	end, hold := circuit.Answered, false
	if it.pass.reply >= 0 && x.w.replies[it.pass.reply].down {
		end = circuit.Failed
	}
	if c := in.circuits[p]; c != nil {
		hold = c.Leave(x.now, it.pass.Pass, end)
	}
	x.turnOver(in, p)
	switch {
	case hold:
		x.hold(it, p, in.circuits[p].Until())
	case it.pass.reply >= 0:
		x.fail(it, it.pass.reply)
	default:
		x.ask(it, p+1)
	}
}

// turnOver gives a connection to the next one that waits for it.
func (x *exact) turnOver(in *instance, p int) {
	in.turns[p]--
	if len(in.queues[p]) > 0 {
		next := in.queues[p][0]
		in.queues[p] = in.queues[p][1:]
		in.turns[p]++
		x.send(next, p)
	}
}

func (x *exact) deliver(it *item) {
	x.counted(it)
	x.rec.delivered(x.now, 1)
	x.finished()
	x.free(it, none)
}

// fail lets the engine decide about a failed attempt.
func (x *exact) fail(it *item, r int) {
	x.counted(it)
	f := x.w.replies[r].failure
	now := start().Add(x.now)
	d := x.w.sys.Decide(retrytopics.Tried{Attempts: it.attempt, LastDelay: it.last}, f, now, x.random.Float64)
	x.rec.failed(x.now, 1, f, d.Outcome, d.Reason)
	if d.Outcome == retrytopics.OutcomeRetried {
		it.attempt++
		it.due, it.last = d.Due, d.Due.Sub(now)
		x.put(it, d.Tier)
	} else {
		x.finished()
	}
	x.free(it, none)
}

func (x *exact) finished() {
	x.left--
	x.rec.last = x.now
}

// counted notes that an attempt was made and not held: its record is out of its tier.
func (x *exact) counted(it *item) {
	if it.tier != source {
		x.rec.wait(x.now, it.tier, -1)
		x.rec.late(1, it.begun-it.due.Sub(start()))
	}
}

// put lets a record wait in a tier.
func (x *exact) put(it *item, tier int) {
	it.tier = tier
	x.rec.wait(x.now, tier, 1)
	now := start().Add(x.now)
	x.after(x.w.sys.Wake(tier, it.due, now).Sub(now), it, x.surface)
}

// surface takes a record from its tier: it is due, or is parked again.
func (x *exact) surface(it *item) {
	d, run := retrytopics.Surface(x.w.sys.Tiers, it.due, start().Add(x.now))
	if run {
		x.offer(it)
		return
	}
	x.rec.wait(x.now, it.tier, -1)
	x.rec.total.parked++
	x.put(it, d.Tier)
}

// none is no provider.
const none = -1

// hold keeps a record that met an open breaker. It spends no attempt.
func (x *exact) hold(it *item, p int, until time.Duration) {
	in := it.home
	h := in.holds[p]
	if h == nil {
		h = &holdList{}
		in.holds[p] = h
	}
	h.until = max(h.until, until)
	h.items = append(h.items, it)
	x.count(it, 1)
	if h.timed != h.until {
		h.timed = h.until
		x.after(h.until-x.now, nil, func(*item) { x.probe(in, p) })
	}
	x.free(it, p)
}

// probe lets one held record try, once its time has come.
func (x *exact) probe(in *instance, p int) {
	h := in.holds[p]
	if h == nil || h.probing != nil || h.until > x.now || len(h.items) == 0 {
		return
	}
	h.probing, h.items = h.items[0], h.items[1:]
	in.runnable = append(in.runnable, h.probing)
	x.dispatch(in)
}

// free gives the slot of an attempt back. When it was the probe of a provider and did not meet its breaker again, what is
// held for the provider goes on.
func (x *exact) free(it *item, again int) {
	in := it.home
	in.running--
	for p, h := range in.holds {
		if h == nil || h.probing != it {
			continue
		}
		h.probing = nil
		if p != again {
			in.runnable = append(in.runnable, h.items...)
			in.holds[p] = nil
		}
	}
	x.dispatch(in)
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
