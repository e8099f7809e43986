package gates

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// slots is the number of parts of a window; it slides by one part.
const slots = 60

// counts are the numbers of records, and for each of several series of bad ones.
type counts struct {
	of  int64
	bad []int64
}

// add adds, or with sign -1 subtracts.
func (c *counts) add(o counts, sign int64) {
	c.of += sign * o.of
	if c.bad == nil {
		c.bad = make([]int64, len(o.bad))
	}
	for i, n := range o.bad {
		c.bad[i] += sign * n
	}
}

// window sums counts over its length. It keeps what each batch added, so that a separately handled batch can be removed
// again. The sums are stored, because they are read with every record.
type window struct {
	step    time.Duration
	latest  int64 // number of the newest part
	parts   [slots]part
	sum     counts
	batches map[string]*counts
}

type part struct {
	total   counts
	batches map[string]*counts
}

func newWindow(length time.Duration, series int) *window {
	return &window{step: max(1, length/slots), sum: counts{bad: make([]int64, series)}, batches: map[string]*counts{}}
}

// slide drops the expired parts. A time before the newest part counts for that part, because workers do not call in the
// order of their clocks.
func (w *window) slide(now time.Time) *part {
	number := now.UnixNano() / int64(w.step)
	for range min(number-w.latest, slots) { // none if the clock stands still or moves back
		w.latest++
		w.drop(w.latest)
	}
	if number > w.latest { // everything is older than the window
		w.latest = number
	}
	return &w.parts[w.latest%slots]
}

func (w *window) drop(number int64) {
	p := &w.parts[number%slots]
	w.sum.add(p.total, -1)
	for id, c := range p.batches {
		if w.batches[id].add(*c, -1); w.batches[id].of == 0 {
			delete(w.batches, id)
		}
	}
	*p = part{}
}

// add counts one record, bad in the series where bad is true.
func (w *window) add(now time.Time, batch string, c counts) {
	p := w.slide(now)
	p.total.add(c, 1)
	w.sum.add(c, 1)
	if batch == "" {
		return
	}
	if p.batches == nil {
		p.batches = map[string]*counts{}
	}
	for _, batches := range []map[string]*counts{p.batches, w.batches} {
		if batches[batch] == nil {
			batches[batch] = &counts{}
		}
		batches[batch].add(c, 1)
	}
}

// worst returns the batch that added the most bad records of a series; the zero batch if there is none.
func (w *window) worst(series int) (batch string, bad, of int64) {
	for id, c := range w.batches {
		if c.bad[series] > bad {
			batch, bad, of = id, c.bad[series], c.of
		}
	}
	return batch, bad, of
}

// forget removes the counts that a batch added.
func (w *window) forget(batch string) {
	delete(w.batches, batch)
	for i := range w.parts {
		if c := w.parts[i].batches[batch]; c != nil {
			w.parts[i].total.add(*c, -1)
			w.sum.add(*c, -1)
			delete(w.parts[i].batches, batch)
		}
	}
}

// merge keeps the counts that a batch added, but no longer attributes them to the batch.
func (w *window) merge(batch string) {
	delete(w.batches, batch)
	for i := range w.parts {
		delete(w.parts[i].batches, batch)
	}
}

// flights has the attempts in flight. Until an attempt ends, it counts as successful, so that fast failures do not
// outrun slow successes that began earlier.
type flights struct {
	most    time.Duration // an attempt that lasts longer is dropped, because its partition went to another instance
	open    map[header.Position]flight
	first   int64            // first attempts of their records
	all     int64            // including later attempts
	batches map[string]int64 // the same by batch
	swept   time.Time
}

type flight struct {
	began time.Time
	batch string
	first bool
	stale bool // it began before the counts were reset
}

func newFlights(most time.Duration) flights {
	return flights{most: most, open: map[header.Position]flight{}, batches: map[string]int64{}}
}

// begin adds an attempt, also a repeated one, for example after an aborted transaction.
func (f *flights) begin(at header.Position, one flight) {
	f.sweep(one.began)
	f.end(at)
	f.open[at] = one
	f.count(one, 1)
}

// end removes an attempt. An attempt that was never added, such as that of an unreadable record, is not stale.
func (f *flights) end(at header.Position) (stale bool) {
	one := f.open[at]
	delete(f.open, at)
	f.count(one, -1)
	return one.stale
}

func (f *flights) count(one flight, sign int64) {
	if one.stale || one.began.IsZero() {
		return
	}
	f.all += sign
	if one.first {
		f.first += sign
	}
	if one.batch == "" {
		return
	}
	if f.batches[one.batch] += sign; f.batches[one.batch] == 0 {
		delete(f.batches, one.batch)
	}
}

// age marks attempts in flight as stale: those whose batch matches.
func (f *flights) age(of func(batch string) bool) {
	for at, one := range f.open {
		if !one.stale && of(one.batch) {
			f.count(one, -1)
			one.stale = true
			f.open[at] = one
		}
	}
}

// sweep drops attempts that last too long.
func (f *flights) sweep(now time.Time) {
	if now.Sub(f.swept) < f.most/4 {
		return
	}
	f.swept = now
	for at, one := range f.open {
		if now.Sub(one.began) > f.most {
			f.end(at)
		}
	}
}

// Code names the tolerance that is broken. It is a closed list (see [Codes]).
type Code string

// The codes.
const (
	NullRate       Code = "null_rate"        // a field has no value too often
	TransientRate  Code = "transient_rate"   // too many records fail transiently at their first attempt
	DeadLetterRate Code = "dead_letter_rate" // too many records die
)

// Codes lists every code.
func Codes() []Code { return []Code{NullRate, TransientRate, DeadLetterRate} }

// key returns the key of the pipeline file that sets the tolerance.
func (c Code) key() string {
	return map[Code]string{
		NullRate: "max_null_rate", TransientRate: "max_transient_rate", DeadLetterRate: "max_dead_letter_rate",
	}[c]
}

// Breach is one broken tolerance.
type Breach struct {
	Code     Code
	Batch    string        // ID of the batch that breaks it; "" for the window
	Field    string        // of a null rate
	Bad      int64         // number of bad records
	Of       int64         // number of records, including those in flight
	InFlight int64         // records whose attempt has begun and not ended; they count as good
	Limit    float64       // tolerated share
	Over     time.Duration // length of the window; 0 for a batch
}

// Share returns the rate, from 0 to 1.
func (b Breach) Share() float64 { return share(b.Bad, b.Of) }

// String returns the counts, the tolerated share and the key that sets it: "120 of 600 records (20 %) failed transiently
// at their first attempt within 10m; pipeline.tolerance.max_transient_rate is 10 %".
func (b Breach) String() string {
	what := map[Code]string{
		NullRate: "have no value in the field " + b.Field, TransientRate: "failed transiently at their first attempt", DeadLetterRate: "became dead letters",
	}[b.Code]
	where := "within " + config.Duration(b.Over).String()
	if b.Batch != "" {
		where = "in batch " + b.Batch
	}
	flying := ""
	if b.InFlight > 0 {
		flying = fmt.Sprintf(", with %d in flight", b.InFlight)
	}
	return fmt.Sprintf("%d of %d records (%s) %s %s%s; pipeline.tolerance.%s is %s",
		b.Bad, b.Of, percent(b.Share()), what, where, flying, b.Code.key(), percent(b.Limit))
}

// percent writes enough digits to distinguish a rate from a limit just below it.
func percent(share float64) string {
	return strconv.FormatFloat(math.Round(share*1e6)/1e4, 'f', -1, 64) + " %"
}

func share(bad, of int64) float64 {
	if of == 0 {
		return 0
	}
	return float64(bad) / float64(of)
}

// beyond reports whether the share of bad records exceeds the limit. It returns false for fewer records than least,
// because few records prove nothing.
func beyond(bad, of int64, limit float64, least int) bool {
	return of >= int64(least) && share(bad, of) > limit
}
