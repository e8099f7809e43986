package noding

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/paulmach/orb"

	"github.com/switchback-geo/switchback/pkg/geometry/sweep"
)

// Segment is the way between two places of the finer grid of a [Raster]. It
// belongs to a ring, and has a height at each end: NaN for none.
type Segment struct {
	A, B   orb.Point
	ZA, ZB float64
	Ring   int32
}

// Limits bound the work.
type Limits struct {
	// Crossings bounds the places where two segments cross. Where more than two
	// meet, or touch, the places on each segment are bounded: altogether by twice as
	// many, beyond four for each segment.
	Crossings int
}

// ErrCrossings says that segments meet more often than [Limits] allow.
var ErrCrossings = errors.New("edges meet in too many places")

// budget is the work that is left. Its context is looked at every so often.
type budget struct {
	ctx       context.Context
	meetings  int // places on segments that are left
	crossings int // places that are left
	visits    int // of boxes of pixels that are left
	turns     int
}

// visitsPerNetwork bounds the search for pixels, a second or two of work: of what
// is no attempt to exceed it, a hundredth is used.
const visitsPerNetwork = 200_000_000

func newBudget(ctx context.Context, limits Limits, segments int) *budget {
	return &budget{ctx: ctx, meetings: 2*limits.Crossings + 4*segments, crossings: limits.Crossings, visits: visitsPerNetwork}
}

// turn counts a turn of a loop, and looks at the context every 512 of them.
func (b *budget) turn() error {
	if b.turns++; b.turns%512 == 0 && b.ctx.Err() != nil {
		return fmt.Errorf("node the edges of a geometry: %w", context.Cause(b.ctx))
	}
	return nil
}

// straightened brings every segment into the order of the sweep, and all of them
// too. Those without length are left out.
func straightened(segments []Segment) []Segment {
	segments = slices.DeleteFunc(segments, func(s Segment) bool { return s.A == s.B })
	for i := range segments {
		if s := &segments[i]; sweep.Before(s.B, s.A) {
			s.A, s.B, s.ZA, s.ZB = s.B, s.A, s.ZB, s.ZA
		}
	}
	slices.SortFunc(segments, func(s, t Segment) int {
		return cmp.Or(sweep.Compare(s.A, t.A), sweep.Compare(s.B, t.B), cmp.Compare(s.Ring, t.Ring))
	})
	return segments
}

// along returns the height of a place between the ends of a segment.
func (s *Segment) along(p orb.Point) float64 {
	axis := 0
	if math.Abs(s.B[1]-s.A[1]) > math.Abs(s.B[0]-s.A[0]) {
		axis = 1
	}
	part := min(1, max(0, (p[axis]-s.A[axis])/(s.B[axis]-s.A[axis])))
	return s.ZA + part*(s.ZB-s.ZA)
}
