package gates

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// Limits set the counted events and the tolerated shares. A share of 1 tolerates everything.
type Limits struct {
	Fields            []string // target fields whose missing values are counted; see [FieldsOf]
	MaxNullRate       float64
	MaxTransientRate  float64
	MaxDeadLetterRate float64
	Floor             int           // decimals of the source's coordinates; 0 for no floor. See [Gates.Precision]
	Window            time.Duration // defaults to 10 minutes
	MinRecords        int           // minimum number of records for judging a rate; defaults to 100
	Attempt           time.Duration // longest duration of an attempt; a longer one no longer counts as in flight. Defaults to 5 minutes
	MaxBatches        int           // batches in memory; the least recently used one is dropped first, and its counts stay in the windows. Defaults to 1000
	// SeparateBatches means that a batch beyond a tolerance is handled separately: its counts are removed from the windows.
	// A window that exceeds a tolerance because of one batch alone waits until that batch can be judged.
	SeparateBatches bool
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
	suspended time.Time // no window is judged until then; zero if none is suspended
	flights   flights
	nulls     *window
	firsts    *window // first attempts
	letters   *window
	precision ordinates
	batches   map[string]*batch
	clock     int64 // of batches: grows with each record
}

// batch has the counts of one batch.
type batch struct {
	nulls     counts
	letters   counts
	precision ordinates
	delivered int64
	heard     int64
}

// New returns gates without any counts.
func New(limits Limits) *Gates {
	limits.Window = cmp.Or(limits.Window, DefaultWindow)
	limits.MinRecords = cmp.Or(limits.MinRecords, DefaultMinRecords)
	limits.MaxBatches = cmp.Or(limits.MaxBatches, DefaultMaxBatches)
	limits.Attempt = cmp.Or(limits.Attempt, DefaultAttempt)
	g := &Gates{limits: limits, batches: map[string]*batch{}, flights: newFlights(limits.Attempt)}
	g.reset()
	return g
}

// Reset clears all counts except the delivered records of each batch. It is for a pipeline that resumes after a pause.
// Attempts in flight are not counted when they end.
func (g *Gates) Reset() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.reset()
}

// reset is Reset with the mutex held.
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

// Forget resets one batch, as [Gates.Reset] resets all: from now on the batch is handled separately, or no longer.
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

// clear resets a batch's counts except the delivered records. The mutex is held.
func (g *Gates) clear(b *batch) {
	b.nulls, b.letters = counts{bad: make([]int64, len(g.limits.Fields))}, counts{bad: make([]int64, 1)}
	b.precision = ordinates{}
}

// Mapped counts the fields of one mapped feature without a value, and returns the tolerances exceeded now. batchID is
// the producer's name of the batch, or "". A missing field counts as one without a value. The caller must not count a
// retry again, but counts a repetition after an aborted transaction.
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

// Begun records the start of an attempt; first means that it is the record's first. The attempt is in flight until
// [Gates.Over]. An attempt without Begun counts when it ends.
func (g *Gates) Begun(now time.Time, at header.Position, batchID string, first bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.settle(now)
	g.flights.begin(at, flight{began: now, batch: batchID, first: first})
}

// Over records that an attempt is no longer in flight: it was committed, or does not count. It reports whether the
// attempt began before the counts were reset. Such an attempt counts only for the delivered records (see
// [Gates.EndedWithoutRate]).
func (g *Gates) Over(at header.Position) (stale bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.flights.end(at)
}

// Outcome is the outcome of one committed attempt for the gates.
type Outcome struct {
	Retry     bool // it was not the record's first attempt, which the transient rate has counted already
	Transient bool // it failed transiently
	Finished  bool // the record is done
	Dead      bool // the record is in the DLQ
	Delivered bool // its output is written
}

// Ended counts one committed attempt, and returns the tolerances exceeded now. A record counts once for the transient
// rate, by its first attempt, and once for the dead-letter rate, when it is done. Attempts in flight count as neither.
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

// EndedWithoutRate is [Gates.Ended] for a record of a separately handled batch, or for a stale attempt: it counts for no rate.
func (g *Gates) EndedWithoutRate(batchID string, o Outcome) {
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

// Delivered returns how many records of a batch were delivered here, if the batch is still in memory.
func (g *Gates) Delivered(batchID string) int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	if b := g.batches[batchID]; b != nil {
		return b.delivered
	}
	return 0
}

// tally is the basis of a rate: ended records, and the number in flight.
type tally struct {
	counts
	flying int64
}

func (t tally) all() int64 { return t.of + t.flying }

// judge judges the batch first; if it is handled separately, the window is judged without it. The mutex is held.
func (g *Gates) judge(batchID string, note func(*batch) tally, all tally, w *window, rates func(tally, *window, Breach) []Breach) []Breach {
	var broken []Breach
	if batchID != "" {
		broken = rates(note(g.batch(batchID)), nil, Breach{Batch: batchID})
		if len(broken) > 0 && g.limits.SeparateBatches {
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

// check returns the breach, if there is one. w is the window of t if batches may be handled separately.
func (g *Gates) check(t tally, w *window, series int, code Code, limit float64, b Breach) []Breach {
	if !beyond(t.bad[series], t.all(), limit, g.limits.MinRecords) {
		return nil
	}
	if w != nil && g.limits.SeparateBatches {
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

// batch returns the counts of a batch, and drops another batch if there are too many. The mutex is held.
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

// Suspend clears all counts, as [Gates.Reset] does, and stops the judging of windows until a time; the zero time ends
// the suspension. The windows then start empty. A separately handled batch is judged nevertheless, because it stops no
// other batch.
func (g *Gates) Suspend(until time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.suspended = until
	g.reset()
}

// Suspended reports whether the windows are not judged at a time.
func (g *Gates) Suspended(now time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return now.Before(g.suspended)
}

// settle ends an expired suspension and discards the counts since its start. The mutex is held.
func (g *Gates) settle(now time.Time) {
	if !g.suspended.IsZero() && !now.Before(g.suspended) {
		g.suspended = time.Time{}
		g.reset()
	}
}

// unsuspended returns the breaches that count during a suspension. The mutex is held, and settle was called.
func (g *Gates) unsuspended(broken []Breach) []Breach {
	if g.suspended.IsZero() {
		return broken
	}
	return slices.DeleteFunc(broken, func(b Breach) bool { return b.Batch == "" || !g.limits.SeparateBatches })
}
