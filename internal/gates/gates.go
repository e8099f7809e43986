package gates

import (
	"cmp"
	"sync"
	"time"

	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// Limits are what is counted and what is tolerated. A share of 1 tolerates everything.
type Limits struct {
	Fields            []string // target fields whose missing values are counted; see [FieldsOf]
	MaxNullRate       float64
	MaxTransientRate  float64
	MaxDeadLetterRate float64
	Floor             int           // decimals that the source's coordinates have; 0 for no floor. See [Gates.Precision]
	Window            time.Duration // defaults to 10 minutes
	MinRecords        int           // a rate counts from so many records on; defaults to 100
	Attempt           time.Duration // an attempt ends within it; what lasts longer is in flight no more. Defaults to 5 minutes
	MaxBatches        int           // that are remembered, the one not heard of for longest goes first; defaults to 1000. What it added stays in the windows
	// ApartBatches says that a batch beyond a tolerance is dealt with by itself: what it added to the windows is taken out. A
	// window that is beyond because of one batch alone waits until that batch can be judged.
	ApartBatches bool
}

// Defaults of [Limits].
const (
	DefaultWindow     = 10 * time.Minute
	DefaultMinRecords = 100
	DefaultMaxBatches = 1000
	DefaultAttempt    = 5 * time.Minute
)

// FieldsOf lists the fields of a mapping that are not required.
func FieldsOf(mapping transform.Config) []string {
	var fields []string
	for _, field := range mapping.Fields {
		if !field.Required {
			fields = append(fields, field.To)
		}
	}
	return fields
}

// Gates counts for one instance. Its methods are safe for concurrent use.
type Gates struct {
	limits Limits

	mu        sync.Mutex
	suspended time.Time // no window is judged until then; zero when none is suspended
	flights   flights
	nulls     *window
	firsts    *window // first attempts
	letters   *window
	precision ordinates
	batches   map[string]*batch
	clock     int64 // of batches: grows with each record
}

// batch is what is known of one batch.
type batch struct {
	nulls     counts
	letters   counts
	precision ordinates
	delivered int64
	heard     int64
}

// New makes gates that have counted nothing.
func New(limits Limits) *Gates {
	limits.Window = cmp.Or(limits.Window, DefaultWindow)
	limits.MinRecords = cmp.Or(limits.MinRecords, DefaultMinRecords)
	limits.MaxBatches = cmp.Or(limits.MaxBatches, DefaultMaxBatches)
	limits.Attempt = cmp.Or(limits.Attempt, DefaultAttempt)
	g := &Gates{limits: limits, batches: map[string]*batch{}, flights: newFlights(limits.Attempt)}
	g.reset()
	return g
}

// Reset forgets all that was counted, but for what was delivered of each batch: for a pipeline that goes on after it was held.
// What is in flight counts for nothing when it ends.
func (g *Gates) Reset() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.reset()
}

// reset is Reset. The mutex is held.
func (g *Gates) reset() {
	g.flights.age(func(string) bool { return true })
	g.nulls = newWindow(g.limits.Window, len(g.limits.Fields))
	g.firsts = newWindow(g.limits.Window, 1)
	g.letters = newWindow(g.limits.Window, 1)
	g.precision = ordinates{}
	for _, b := range g.batches {
		g.clear(b)
	}
}

// Forget does for one batch what [Gates.Reset] does for all: it is dealt with by itself from now on, or no longer.
func (g *Gates) Forget(batchID string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.flights.age(func(batch string) bool { return batch == batchID })
	g.nulls.forget(batchID)
	g.letters.forget(batchID)
	g.precision.forget(batchID)
	if b := g.batches[batchID]; b != nil {
		g.clear(b)
	}
}

// clear gives a batch no counts but that of what was delivered. The mutex is held.
func (g *Gates) clear(b *batch) {
	b.nulls, b.letters = counts{bad: make([]int64, len(g.limits.Fields))}, counts{bad: make([]int64, 1)}
	b.precision = ordinates{}
}

// Mapped counts the fields of one mapped feature that have no value, and gives what is broken now. batchID is what the
// producer calls the batch, "" when it says nothing. A field that is missing counts as one without a value. A retry of a
// record must not be counted again; what is done again after an aborted transaction is.
func (g *Gates) Mapped(now time.Time, batchID string, f *transform.Feature) []Breach {
	if len(g.limits.Fields) == 0 || g.limits.MaxNullRate >= 1 {
		return nil
	}
	c := counts{of: 1, bad: make([]int64, len(g.limits.Fields))}
	for i, field := range g.limits.Fields {
		if value, found := f.Property(field); !found || value.IsNull() {
			c.bad[i] = 1
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.settle(now)
	g.nulls.add(now, batchID, c)
	return g.unsuspended(g.judge(batchID, func(b *batch) tally {
		b.nulls.add(c, 1)
		return tally{counts: b.nulls}
	}, tally{counts: g.nulls.sum}, g.nulls, g.nullRates))
}

// Begun notes that an attempt at a record has begun, first says whether it is the record's first. It is in flight until
// [Gates.Over]. An attempt that nobody notes is counted when it ends.
func (g *Gates) Begun(now time.Time, at header.Position, batchID string, first bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.settle(now)
	g.flights.begin(at, flight{began: now, batch: batchID, first: first})
}

// Over notes that an attempt is not in flight any more: it was committed, or counts for nothing. It says whether the attempt
// began before the counts were reset; it is no business of the gates then, but for what it delivered (see [Gates.EndedApart]).
func (g *Gates) Over(at header.Position) (stale bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.flights.end(at)
}

// Outcome is what one committed attempt means for the gates.
type Outcome struct {
	Retry     bool // it was not the first attempt at its record, which is counted for the transient rate already
	Transient bool // it failed transiently
	Finished  bool // the record is done
	Dead      bool // the record is in the DLQ
	Delivered bool // its output is written
}

// Ended counts one committed attempt and gives what is broken now: a record counts once for the transient rate, by its first
// attempt, and once for the dead-letter rate, when it is done. What is in flight counts as records that are neither.
func (g *Gates) Ended(now time.Time, batchID string, o Outcome) (broken []Breach) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.settle(now)
	if !o.Retry {
		g.firsts.add(now, "", one(o.Transient))
		broken = g.transientRate()
	}
	if !o.Finished {
		return g.unsuspended(broken)
	}
	c := one(o.Dead)
	g.letters.add(now, batchID, c)
	broken = append(broken, g.judge(batchID, func(b *batch) tally {
		b.letters.add(c, 1)
		b.deliver(o)
		return tally{b.letters, g.flights.batches[batchID]}
	}, tally{g.letters.sum, g.flights.all}, g.letters, g.deadLetterRate)...)
	return g.unsuspended(broken)
}

// EndedApart does what [Gates.Ended] does for a record of a batch that is dealt with by itself, or whose attempt is stale: it
// counts for no rate.
func (g *Gates) EndedApart(batchID string, o Outcome) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if batchID != "" {
		g.batch(batchID).deliver(o)
	}
}

func (b *batch) deliver(o Outcome) {
	if o.Delivered {
		b.delivered++
	}
}

func one(bad bool) counts {
	c := counts{of: 1, bad: []int64{0}}
	if bad {
		c.bad[0] = 1
	}
	return c
}

// Delivered says how many records of a batch were delivered here, as far as it is remembered.
func (g *Gates) Delivered(batchID string) int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	if b := g.batches[batchID]; b != nil {
		return b.delivered
	}
	return 0
}

// tally is what a rate is taken of: what ended, and how many records are in flight besides.
type tally struct {
	counts
	flying int64
}

func (t tally) all() int64 { return t.of + t.flying }

// judge asks the batch first: when it is dealt with by itself, the window is asked without it. The mutex is held.
func (g *Gates) judge(batchID string, note func(*batch) tally, all tally, w *window, rates func(tally, *window, Breach) []Breach) []Breach {
	var broken []Breach
	if batchID != "" {
		broken = rates(note(g.batch(batchID)), nil, Breach{Batch: batchID})
		if len(broken) > 0 && g.limits.ApartBatches {
			g.nulls.forget(batchID)
			g.letters.forget(batchID)
			all.counts = w.sum
		}
	}
	return append(broken, rates(all, w, Breach{Over: g.limits.Window})...)
}

func (g *Gates) transientRate() []Breach {
	return g.check(tally{g.firsts.sum, g.flights.first}, nil, 0, TransientRate, g.limits.MaxTransientRate, Breach{Over: g.limits.Window})
}

func (g *Gates) nullRates(t tally, w *window, b Breach) (broken []Breach) {
	for i, field := range g.limits.Fields {
		b.Field = field
		broken = append(broken, g.check(t, w, i, NullRate, g.limits.MaxNullRate, b)...)
	}
	return broken
}

func (g *Gates) deadLetterRate(t tally, w *window, b Breach) []Breach {
	return g.check(t, w, 0, DeadLetterRate, g.limits.MaxDeadLetterRate, b)
}

// check gives the breach, if it is one. w is the window that t is the sum of, where batches may be dealt with by themselves.
func (g *Gates) check(t tally, w *window, series int, code Code, limit float64, b Breach) []Breach {
	if !beyond(t.bad[series], t.all(), limit, g.limits.MinRecords) {
		return nil
	}
	if w != nil && g.limits.ApartBatches {
		worst, bad, of := w.worst(series)
		if t.flying > 0 {
			of += g.flights.batches[worst]
		}
		if of > 0 && !beyond(t.bad[series]-bad, t.all()-of, limit, g.limits.MinRecords) {
			return nil
		}
	}
	b.Code, b.Bad, b.Of, b.InFlight, b.Limit = code, t.bad[series], t.all(), t.flying, limit
	return []Breach{b}
}

// batch gives what is known of a batch, and forgets another one when there are too many. The mutex is held.
func (g *Gates) batch(id string) *batch {
	g.clock++
	b := g.batches[id]
	if b == nil {
		g.makeRoom()
		b = &batch{}
		g.clear(b)
		g.batches[id] = b
	}
	b.heard = g.clock
	return b
}

func (g *Gates) makeRoom() {
	if len(g.batches) < g.limits.MaxBatches {
		return
	}
	oldest, heard := "", g.clock
	for name, other := range g.batches {
		if other.heard < heard {
			oldest, heard = name, other.heard
		}
	}
	delete(g.batches, oldest)
	g.nulls.merge(oldest)
	g.letters.merge(oldest)
}
