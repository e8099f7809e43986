package gates

import "time"

// slots is the number of parts of a window; it slides by one part.
const slots = 60

// counts are records, and for each of several series the number of bad ones.
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
	for range min(number-w.latest, slots) { // none if the time stands still or goes back
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

// worst returns the batch that added the most bad records of a series; nothing if there is no batch.
func (w *window) worst(series int) (batch string, bad, of int64) {
	for id, c := range w.batches {
		if c.bad[series] > bad {
			batch, bad, of = id, c.bad[series], c.of
		}
	}
	return batch, bad, of
}

// forget removes what a batch added.
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

// merge keeps what a batch added, but forgets that the batch added it.
func (w *window) merge(batch string) {
	delete(w.batches, batch)
	for i := range w.parts {
		delete(w.parts[i].batches, batch)
	}
}
