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

// Segment is the line between two places of the finer grid of a [Raster]. It belongs to a ring and has a height at each
// end, NaN if unknown.
type Segment struct {
	A, B   orb.Point
	ZA, ZB float64
	Ring   int32
}

// Limits bound the work.
type Limits struct {
	// Crossings bounds the number of places where two segments cross. Where segments touch or more than two meet, the
	// limit is on the places of all segments together: twice Crossings, plus four per segment.
	Crossings int
}

// ErrCrossings is returned if segments meet more often than [Limits] allows.
var ErrCrossings = errors.New("edges meet in too many places")

// budget is the remaining work. It checks its context at intervals.
type budget struct {
	ctx       context.Context
	meetings  int // remaining places on segments
	crossings int // remaining places
	visits    int // remaining visits to boxes of pixels
	turns     int
}

// visitsPerNetwork bounds the search for pixels to a second or two. Ordinary input uses a hundredth of it.
const visitsPerNetwork = 200_000_000

func newBudget(ctx context.Context, limits Limits, segments int) *budget {
	return &budget{ctx: ctx, meetings: 2*limits.Crossings + 4*segments, crossings: limits.Crossings, visits: visitsPerNetwork}
}

// turn counts one step of a loop. It checks the context every 512 steps.
func (b *budget) turn() error {
	if b.turns++; b.turns%512 == 0 && b.ctx.Err() != nil {
		return fmt.Errorf("node the edges of a geometry: %w", context.Cause(b.ctx))
	}
	return nil
}

// straightened turns every segment into the direction of the sweep and sorts all of them. It drops segments of length
// zero.
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

// along returns the interpolated height at a place between the ends of a segment.
func (s *Segment) along(p orb.Point) float64 {
	axis := 0
	if math.Abs(s.B[1]-s.A[1]) > math.Abs(s.B[0]-s.A[0]) {
		axis = 1
	}
	part := min(1, max(0, (p[axis]-s.A[axis])/(s.B[axis]-s.A[axis])))
	return s.ZA + part*(s.ZB-s.ZA)
}
