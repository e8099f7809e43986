package gates

import (
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"time"

	"github.com/paulmach/orb"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/geometry"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// ordinates are the latest ones, of different features or with different values. A repetition of a feature counts once:
// a sensor does not move, and a retry adds nothing.
type ordinates struct {
	ring []kept
	next int
	seen map[place]bool
	with [maxDecimals + 1]int // number of ordinates by number of decimals
}

type kept struct {
	ordinate
	batch string
}

type place struct {
	feature uint64
	value   float64
}

func (k kept) place() place { return place{k.feature, k.value} }

func (o *ordinates) add(batch string, s Sample) {
	if o.seen == nil {
		o.seen = map[place]bool{}
	}
	for _, one := range s.ordinates {
		k := kept{one, batch}
		if o.seen[k.place()] {
			continue
		}
		if len(o.ring) < PrecisionOrdinates {
			o.ring = append(o.ring, k)
		} else {
			o.drop(o.ring[o.next])
			o.ring[o.next] = k
			o.next = (o.next + 1) % PrecisionOrdinates
		}
		o.seen[k.place()] = true
		o.with[k.decimals]++
	}
}

func (o *ordinates) drop(k kept) {
	delete(o.seen, k.place())
	o.with[k.decimals]--
}

// coarser counts the ordinates with fewer decimals than the floor.
func (o *ordinates) coarser(floor int) (n int) {
	for decimals := range floor {
		n += o.with[decimals]
	}
	return n
}

// worst returns the number of coarser ordinates of the batch with the most of them; 0 if no record names a batch.
func (o *ordinates) worst(floor int) (highest int) {
	of := map[string]int{}
	for _, k := range o.ring {
		if k.batch != "" && k.decimals < floor {
			of[k.batch]++
			highest = max(highest, of[k.batch])
		}
	}
	return highest
}

// forget removes the ordinates of a batch.
func (o *ordinates) forget(batch string) {
	rest := make([]kept, 0, PrecisionOrdinates)
	for i := range o.ring { // the oldest first
		k := o.ring[(o.next+i)%len(o.ring)]
		if k.batch == batch {
			o.drop(k)
		} else {
			rest = append(rest, k)
		}
	}
	o.ring, o.next = rest, 0
}

// PrecisionBreach means that the precision floor is broken.
type PrecisionBreach struct {
	Batch  string // ID of the batch that breaks it; "" if the window does
	Coarse int    // ordinates with fewer decimals
	Of     int    // counted ordinates
	Floor  int
}

// String describes the count, the tolerance, and the key that sets it.
func (b PrecisionBreach) String() string {
	where := ""
	if b.Batch != "" {
		where = " of batch " + b.Batch
	}
	return fmt.Sprintf("%d of the last %d ordinates%s have fewer than %d decimals; tolerated are %d of %d (pipeline.tolerance.precision_decimal_threshold)",
		b.Coarse, b.Of, where, b.Floor, coarseLimit, PrecisionOrdinates)
}

// Failure returns the error of a feature below the floor.
func (b PrecisionBreach) Failure(feature string) *transform.Error {
	return &transform.Error{
		Code: classify.CodePrecisionDegraded, Stage: classify.StageGate, Rule: "pipeline.tolerance.precision_decimal_threshold",
		Path: "/geometry", Feature: feature, Message: b.String(),
		Fix: "have the producer send its coordinates unrounded and resume; or, if they are correct, lower the floor (only rounding of the output was meant: " +
			"write transform.geometry.round_decimals and remove the floor), restart and resume; " +
			"without precision_degraded in pause_on, records below the floor become dead letters",
	}
}

// Precision counts the coordinates of one feature. It reports whether the feature is below the floor while its batch,
// or all features together, are. So an accurate feature passes whatever the others are, and a coarse one passes among
// accurate ones. With count false the sample is judged and not counted. The caller decides about a suspension: the
// floor pauses the pipeline in some configurations, and makes dead letters in others.
func (g *Gates) Precision(now time.Time, batchID string, s Sample, count bool) (PrecisionBreach, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.settle(now)
	var own *ordinates
	if batchID != "" {
		own = &g.batch(batchID).precision
	}
	if count {
		g.precision.add(batchID, s)
		if own != nil {
			own.add("", s)
		}
	}
	floor := g.limits.Floor
	if floor == 0 || !s.coarse(floor) {
		return PrecisionBreach{}, false
	}
	if own != nil && own.coarser(floor) > coarseLimit {
		b := PrecisionBreach{Batch: batchID, Coarse: own.coarser(floor), Of: len(own.ring), Floor: floor}
		if g.limits.SeparateBatches {
			g.precision.forget(batchID)
		}
		return b, true
	}
	coarser := g.precision.coarser(floor)
	if coarser <= coarseLimit || g.limits.SeparateBatches && coarser-g.precision.worst(floor) <= coarseLimit {
		return PrecisionBreach{}, false // a batch that may break it alone is judged first
	}
	return PrecisionBreach{Coarse: coarser, Of: len(g.precision.ring), Floor: floor}, true
}

// Decimals returns how many decimals at least half of the last ordinates have, once there are enough of them.
func (g *Gates) Decimals() (decimals int, enough bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.precision.ring) < PrecisionOrdinates {
		return 0, false
	}
	for decimals < maxDecimals && g.precision.coarser(decimals+1) <= coarseLimit {
		decimals++
	}
	return decimals, true
}

// The precision floor is judged over many coordinates, because JSON drops trailing zeros: one in ten accurate
// ordinates with exactly the floor's decimals looks coarser. The floor is broken if more than coarseLimit of the last
// PrecisionOrdinates are coarser. For accurate ordinates that has a probability of 6e-25 (docs/decisions/0070). A
// source that lost a decimal is noticed after 51 ordinates (26 points) at the start, and after 46 ordinates (23
// points) that follow accurate ones.
const (
	PrecisionOrdinates = 100
	coarseLimit        = PrecisionOrdinates / 2
	maxDecimals        = 15
	// positionsOfOne is the largest number of positions that one feature adds: no feature breaks the floor alone.
	positionsOfOne = 10
)

// Sample has the ordinates of one feature, each once, in no order, and a hash of the feature. For a feature with many
// positions, it has an evenly spread selection.
type Sample struct {
	feature   uint64
	ordinates []ordinate
}

// ordinate is one number of a coordinate.
type ordinate struct {
	feature  uint64
	value    float64
	decimals int // number of decimals, 0 to 15
}

// SampleOf samples a geometry in the source's coordinates: longitude and latitude, or easting and northing, without the
// height. feature identifies the feature: its ID, or the position of its record. A nil shape has no ordinates.
func SampleOf(feature string, shape orb.Geometry) Sample {
	name := fnv.New64a()
	_, _ = name.Write([]byte(feature)) // never fails
	s := Sample{feature: name.Sum64()}
	total := geometry.Positions(shape)
	step, next, i := max(1, (total+positionsOfOne-1)/positionsOfOne), 0, 0
	geometry.EachLine(shape, func(line []orb.Point) {
		for _, p := range line {
			if i == next {
				s.add(p[0])
				s.add(p[1])
				next += step
			}
			i++
		}
	})
	return s
}

func (s *Sample) add(value float64) {
	if !slices.ContainsFunc(s.ordinates, func(o ordinate) bool { return o.value == value }) {
		s.ordinates = append(s.ordinates, ordinate{s.feature, value, decimalsOf(value)})
	}
}

// coarse reports whether more than half of the ordinates have fewer decimals than the floor.
func (s Sample) coarse(floor int) bool {
	n := 0
	for _, o := range s.ordinates {
		if o.decimals < floor {
			n++
		}
	}
	return 2*n > len(s.ordinates)
}

// decimalsOf returns the least number of decimals that write a number exactly, or 15 if it needs more.
func decimalsOf(x float64) int {
	for n := range maxDecimals {
		scale := math.Pow10(n)
		if math.Round(x*scale)/scale == x {
			return n
		}
	}
	return maxDecimals
}
