package tolerance

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/switchback-geo/switchback/pkg/transform"
)

// Options are what is counted and what is tolerated.
type Options struct {
	// Fields are the target fields that are counted: those that are not required.
	// See [FieldsOf].
	Fields []string

	// MaxNullRate is the share of features without a value that is tolerated, 0 to 1.
	MaxNullRate float64

	// Window is how far back the sliding window reaches. Defaults to 10 minutes.
	Window time.Duration

	// MinRecords is how many records a window or a batch needs before its rate
	// counts: of few, one says nothing. Defaults to 100.
	MinRecords int

	// MaxBatches bounds the batches that are remembered; the one that was not
	// heard of for longest goes first. Defaults to 1000.
	MaxBatches int
}

// Defaults of [Options].
const (
	DefaultWindow     = 10 * time.Minute
	DefaultMinRecords = 100
	DefaultMaxBatches = 1000
)

// slots is the number of parts of a window: it slides in steps of one.
const slots = 60

// Rate is how often one field had no value.
type Rate struct {
	Field string
	Batch string // "" for the window over all records
	Nulls int64
	Of    int64 // records
}

// Share is the rate, 0 to 1.
func (r Rate) Share() float64 {
	if r.Of == 0 {
		return 0
	}
	return float64(r.Nulls) / float64(r.Of)
}

// NullRates counts. Its methods are safe for concurrent use.
type NullRates struct {
	options Options
	mu      sync.Mutex
	window  [slots]counts
	starts  [slots]int64 // number of the part that a slot holds
	batches map[string]*batch
	clock   int64 // of batches: grows with each record
}

// counts are the records of a part and the nulls of each field.
type counts struct {
	records int64
	nulls   []int64
}

type batch struct {
	counts
	heard int64
}

// New makes a counter.
func New(options Options) *NullRates {
	options.Window = cmp.Or(options.Window, DefaultWindow)
	options.MinRecords = cmp.Or(options.MinRecords, DefaultMinRecords)
	options.MaxBatches = cmp.Or(options.MaxBatches, DefaultMaxBatches)
	return &NullRates{options: options, batches: map[string]*batch{}}
}

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

// Count counts one mapped feature, at the time when it was mapped. batchID is
// what the producer calls the batch, "" when it says nothing. A field that is
// missing counts as null. A retry of a record must not be counted again.
func (n *NullRates) Count(now time.Time, batchID string, f *transform.Feature) {
	n.mu.Lock()
	defer n.mu.Unlock()
	part := n.part(now)
	slot := int(part % slots)
	if n.starts[slot] != part {
		n.starts[slot], n.window[slot] = part, counts{}
	}
	in := []*counts{&n.window[slot]}
	if batchID != "" {
		in = append(in, &n.batch(batchID).counts)
	}
	for _, c := range in {
		c.records++
		if c.nulls == nil {
			c.nulls = make([]int64, len(n.options.Fields))
		}
	}
	for i, field := range n.options.Fields {
		if value, found := f.Property(field); found && !value.IsNull() {
			continue
		}
		for _, c := range in {
			c.nulls[i]++
		}
	}
}

// part numbers the steps of the window.
func (n *NullRates) part(now time.Time) int64 {
	return now.UnixNano() / max(1, int64(n.options.Window)/slots)
}

// batch returns the counts of a batch and forgets another one when there are too
// many.
func (n *NullRates) batch(id string) *batch {
	n.clock++
	b := n.batches[id]
	if b == nil {
		if len(n.batches) >= n.options.MaxBatches {
			oldest, heard := "", n.clock
			for name, other := range n.batches {
				if other.heard < heard {
					oldest, heard = name, other.heard
				}
			}
			delete(n.batches, oldest)
		}
		b = &batch{}
		n.batches[id] = b
	}
	b.heard = n.clock
	return b
}

// Window returns the rate of each field in the window that ends now, in the order
// of Options.Fields.
func (n *NullRates) Window(now time.Time) []Rate {
	n.mu.Lock()
	defer n.mu.Unlock()
	rates := make([]Rate, len(n.options.Fields))
	latest := n.part(now)
	for slot := range n.window {
		if age := latest - n.starts[slot]; age < 0 || age >= slots {
			continue
		}
		for i, nulls := range n.window[slot].nulls {
			rates[i].Nulls += nulls
		}
		for i := range rates {
			rates[i].Of += n.window[slot].records
		}
	}
	for i, field := range n.options.Fields {
		rates[i].Field = field
	}
	return rates
}

// Batch returns the rate of each field in a batch; nil when it is not remembered.
func (n *NullRates) Batch(id string) []Rate {
	n.mu.Lock()
	defer n.mu.Unlock()
	b := n.batches[id]
	if b == nil {
		return nil
	}
	rates := make([]Rate, len(n.options.Fields))
	for i, field := range n.options.Fields {
		rates[i] = Rate{Field: field, Batch: id, Nulls: b.nulls[i], Of: b.records}
	}
	return rates
}

// Beyond lists the rates above what is tolerated: of the window, and of the batch
// when batchID is not "". The highest comes first.
func (n *NullRates) Beyond(now time.Time, batchID string) []Rate {
	rates := n.Window(now)
	if batchID != "" {
		rates = append(rates, n.Batch(batchID)...)
	}
	rates = slices.DeleteFunc(rates, func(r Rate) bool {
		return r.Of < int64(n.options.MinRecords) || r.Share() <= n.options.MaxNullRate
	})
	slices.SortStableFunc(rates, func(a, b Rate) int { return cmp.Compare(b.Share(), a.Share()) })
	return rates
}
