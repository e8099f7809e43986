package noding

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/paulmach/orb"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/pkg/geometry/sweep"
)

// network builds the network of segments with whole numbers.
func network(tb testing.TB, raster Raster, segments ...Segment) *Network {
	tb.Helper()
	n, err := Build(tb.Context(), raster, segments, true, Limits{Crossings: 100_000})
	must.That(tb, err == nil, "%v: %v", err, segments)
	return n
}

// between returns the segment between two positions, with heights.
func between(r Raster, a, b orb.Point, za, zb float64, ring int32) Segment {
	return Segment{A: r.Place(a), B: r.Place(b), ZA: za, ZB: zb, Ring: ring}
}

func TestBuild_places_and_heights(t *testing.T) {
	r := NewRaster(0, 10)
	n := network(t, r,
		between(r, orb.Point{0, 0}, orb.Point{4, 4}, 0, 40, 0), between(r, orb.Point{0, 4}, orb.Point{4, 0}, 10, 10, 1),
		between(r, orb.Point{4, 0}, orb.Point{8, 0}, 10, math.NaN(), 1), between(r, orb.Point{2, 0}, orb.Point{6, 0}, 5, 7, 2),
	)
	var edges []string
	for i, e := range n.Edges {
		edges = append(edges, fmt.Sprint(n.Nodes[e.West], n.Nodes[e.East], n.Rings(int32(i))))
	}
	want := []string{"[0 0] [2 2] [0]", "[0 4] [2 2] [1]", "[2 0] [4 0] [2]", "[2 2] [4 0] [1]", "[2 2] [4 4] [0]", "[4 0] [6 0] [1 2]", "[6 0] [8 0] [1]"}
	expect.That(t, slices.Equal(edges, want), "got  %v\nwant %v", edges, want)
	for at, height := range map[orb.Point]float64{{2, 2}: 15, {4, 0}: 10, {6, 0}: 7, {8, 0}: math.NaN()} {
		node, found := n.NodeOf(r.Place(at))
		got := n.Height(node)
		expect.That(t, found && (got == height || math.IsNaN(got) && math.IsNaN(height)), "the height at %v is %v, want %v", at, got, height)
	}
}

// A piece that one ring has twice is no border of it. A piece of two rings stays.
func TestBuild_cancels_within_a_ring(t *testing.T) {
	r := NewRaster(0, 10)
	n := network(t, r, between(r, orb.Point{0, 0}, orb.Point{4, 0}, 0, 0, 0), between(r, orb.Point{6, 0}, orb.Point{2, 0}, 0, 0, 0),
		between(r, orb.Point{0, 2}, orb.Point{4, 2}, 0, 0, 0), between(r, orb.Point{4, 2}, orb.Point{0, 2}, 0, 0, 1))
	expect.That(t, len(n.Edges) == 3 && slices.Equal(n.Rings(1), []int32{0, 1}), "got %v of %v", n.Edges, n.Nodes)
}

// Edges meet at nodes only, and no node is closer than half a cell to an edge that does not end there.
func TestBuild_keeps_nodes_half_a_cell_from_edges(t *testing.T) {
	seed := testrun.Seed(t)
	random := rand.New(rand.NewPCG(seed, 0))
	for range 3_000 {
		decimals := random.IntN(3)
		r := NewRaster(decimals, 10)
		var segments []Segment
		for range 2 + random.IntN(12) {
			point := func() orb.Point { return orb.Point{random.Float64() * 3, random.Float64() * 3} }
			segments = append(segments, between(r, point(), point(), 0, 0, int32(len(segments))))
		}
		given := slices.Clone(segments)
		n := network(t, r, segments...)
		for _, e := range n.Edges {
			a, b := n.Nodes[e.West], n.Nodes[e.East]
			for i, p := range n.Nodes {
				must.That(t, int32(i) == e.West || int32(i) == e.East || len(n.Out(int32(i))) == 0 || fromEdge(a, b, p) >= 0.5-1e-9, "%v lies %v cells from the edge of %v and %v: %v", p, fromEdge(a, b, p), a, b, given)
			}
		}
	}
}

// fromEdge returns the distance of a point from an edge.
func fromEdge(a, b, p orb.Point) float64 {
	dx, dy := b[0]-a[0], b[1]-a[1]
	part := min(1, max(0, ((p[0]-a[0])*dx+(p[1]-a[1])*dy)/(dx*dx+dy*dy)))
	return math.Hypot(p[0]-a[0]-part*dx, p[1]-a[1]-part*dy)
}

// Crossings have the same place and order as with fractions.
func TestCrossing_is_exact(t *testing.T) {
	seed := testrun.Seed(t)
	random := rand.New(rand.NewPCG(seed, 0))
	var a arithmetic
	orders := map[int]int{}
	for range 20_000 {
		reach := []int64{3, 10, 1000, 1 << 30, 1 << 48}[random.IntN(5)]
		whole := func() float64 { return float64(random.Int64N(2*reach) - reach) }
		var edges []edge
		for len(edges) < 4 {
			w, e := orb.Point{whole(), whole()}, orb.Point{whole(), whole()}
			if sweep.Before(w, e) {
				edges = append(edges, newEdge(w, e))
			}
		}
		var c [2]crossing
		var want [2][2]*big.Rat
		parallel := false
		for i := range c {
			l, u := &edges[2*i], &edges[2*i+1]
			x, y, ok := meeting(l, u)
			if parallel = parallel || !ok || x.Num().BitLen() > 60+x.Denom().BitLen(); parallel {
				break
			}
			c[i] = a.crossingOf(l, u)
			c[i].l, c[i].u = int32(2*i), int32(2*i+1)
			want[i] = [2]*big.Rat{x, y}
			checkWhole(t, c[i].x, c[i].restX, x)
			checkWhole(t, c[i].y, c[i].restY, y)
		}
		if parallel {
			continue
		}
		order := want[0][0].Cmp(want[1][0])
		if order == 0 {
			order = want[0][1].Cmp(want[1][1])
		}
		orders[order]++
		got := a.compare(&c[0], &c[1], edges)
		must.That(t, got == order, "order %d, want %d: %+v", got, order, edges)
	}
	expect.That(t, orders[0] >= 1 && orders[1] >= 1_000, "orders %v", orders)
}

// meeting returns the place where the lines of two edges meet, as fractions.
func meeting(l, u *edge) (x, y *big.Rat, ok bool) {
	rat := func(f float64) *big.Rat { return new(big.Rat).SetFloat64(f) }
	sub := func(p, q float64) *big.Rat { return new(big.Rat).Sub(rat(p), rat(q)) }
	cross := func(ax, ay, bx, by *big.Rat) *big.Rat {
		return new(big.Rat).Sub(new(big.Rat).Mul(ax, by), new(big.Rat).Mul(ay, bx))
	}
	rx, ry, sx, sy := sub(l.East[0], l.West[0]), sub(l.East[1], l.West[1]), sub(u.East[0], u.West[0]), sub(u.East[1], u.West[1])
	den := cross(rx, ry, sx, sy)
	if den.Sign() == 0 {
		return nil, nil, false
	}
	t := cross(sub(u.West[0], l.West[0]), sub(u.West[1], l.West[1]), sx, sy)
	t.Quo(t, den)
	if t.Sign() < 0 || t.Cmp(big.NewRat(1, 1)) > 0 {
		return nil, nil, false
	}
	return rx.Add(rx.Mul(rx, t), rat(l.West[0])), ry.Add(ry.Mul(ry, t), rat(l.West[1])), true
}

// checkWhole compares a rounded ordinate with the fraction.
func checkWhole(t *testing.T, whole, rest float64, want *big.Rat) {
	t.Helper()
	left := new(big.Rat).Sub(want, new(big.Rat).SetFloat64(whole))
	exact, _ := left.Float64()
	half := left.Cmp(big.NewRat(1, 2))
	must.That(t, left.Sign() >= 0 && left.Cmp(big.NewRat(1, 1)) < 0 && math.Abs(exact-rest) <= 1e-15 && (rest == 0) == (left.Sign() == 0) && (rest >= 0.5) == (half >= 0), "%v and %v, want %v", whole, rest, want)
}

// A cell owns its southern and western sides. A segment passes the cell if, computed with fractions, one of its places
// lies in it.
func TestTouches_is_exact(t *testing.T) {
	seed := testrun.Seed(t)
	random := rand.New(rand.NewPCG(seed, 0))
	counts := map[bool]int{}
	for range 100_000 {
		step := []float64{1, 2, 10}[random.IntN(3)]
		whole := func() float64 { return float64(random.IntN(int(8*step))) - 4*step }
		a, b := orb.Point{whole(), whole()}, orb.Point{whole(), whole()}
		if !sweep.Before(a, b) {
			continue
		}
		got, want := touches(orb.Point{}, step/2, a, b), clipped(a, b, step)
		if counts[got]++; got != want {
			t.Fatalf("the cell of width %v is passed %v by the way from %v to %v, want %v", step, got, a, b, want)
		}
	}
	expect.That(t, counts[true] >= 5_000 && counts[false] >= 10_000, "counts %v", counts)
}

// clipped reports whether a segment has a place in the half-open cell around the origin. It tries all fractions at which
// the segment may enter or leave, and those in between.
func clipped(a, b orb.Point, step float64) bool {
	rat := func(f float64) *big.Rat { return new(big.Rat).SetFloat64(f) }
	parts := []*big.Rat{rat(0), rat(1)}
	for axis := range 2 {
		if way := b[axis] - a[axis]; way != 0 {
			for _, side := range [...]float64{-step / 2, step / 2} {
				part := new(big.Rat).Quo(rat(side-a[axis]), rat(way))
				if part.Sign() >= 0 && part.Cmp(rat(1)) <= 0 {
					parts = append(parts, part)
				}
			}
		}
	}
	slices.SortFunc(parts, (*big.Rat).Cmp)
	for i := len(parts) - 1; i > 0; i-- {
		middle := new(big.Rat).Add(parts[i], parts[i-1])
		parts = append(parts, middle.Mul(middle, big.NewRat(1, 2)))
	}
	low, high := rat(-step/2), rat(step/2)
	return slices.ContainsFunc(parts, func(part *big.Rat) bool {
		for axis := range 2 {
			at := new(big.Rat).Mul(part, rat(b[axis]-a[axis]))
			if at.Add(at, rat(a[axis])); at.Cmp(low) < 0 || at.Cmp(high) >= 0 {
				return false
			}
		}
		return true
	})
}

func TestBuild_is_bounded(t *testing.T) {
	var chords []Segment
	r := Finest(1)
	random := rand.New(rand.NewPCG(1, 0))
	for range 400 {
		chords = append(chords, between(r, orb.Point{0, random.Float64()}, orb.Point{1, random.Float64()}, 0, 0, 0))
	}
	_, err := Build(t.Context(), r, slices.Clone(chords), false, Limits{Crossings: 1_000})
	expect.That(t, errors.Is(err, ErrCrossings), "chords: %v", err)
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("no time left")
	cancel(cause)
	_, err = Build(ctx, r, chords, false, Limits{Crossings: 1_000_000})
	expect.That(t, errors.Is(err, cause), "a context that has ended: %v", err)
}

// A place counts once against the limit, however often the sweep foresees it and however many edges meet there.
func TestBuild_S0_3_aCrossingCountsOnce(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 3))
	for range 50 {
		segments := make([]Segment, 40)
		for i := range segments {
			for _, end := range []*orb.Point{&segments[i].A, &segments[i].B} {
				*end = orb.Point{math.Round(random.Float64() * 1e6), math.Round(random.Float64() * 1e6)}
			}
		}
		r := Finest(1e7)
		places := map[orb.Point]bool{}
		ends := map[orb.Point]bool{}
		for i, s := range segments {
			ends[s.A], ends[s.B] = true, true
			for _, o := range segments[:i] {
				if at, meets := crossingPlace(s, o); meets {
					places[at] = true
				}
			}
		}
		for at := range ends {
			delete(places, at)
		}
		enough := Limits{Crossings: len(places)}
		_, err := Build(t.Context(), r, slices.Clone(segments), false, enough)
		must.That(t, err == nil, "%d places: %v", len(places), err)
		_, err = Build(t.Context(), r, slices.Clone(segments), false, Limits{Crossings: len(places) - 1})
		must.That(t, errors.Is(err, ErrCrossings), "%d places, one too many: %v", len(places), err)
	}
}

// crossingPlace returns the place where two segments cross, rounded to distinct doubles. Random segments do not end on
// each other.
func crossingPlace(s, o Segment) (orb.Point, bool) {
	dx, dy, ex, ey := s.B[0]-s.A[0], s.B[1]-s.A[1], o.B[0]-o.A[0], o.B[1]-o.A[1]
	den := dx*ey - dy*ex
	if den == 0 {
		return orb.Point{}, false
	}
	u := ((o.A[0]-s.A[0])*ey - (o.A[1]-s.A[1])*ex) / den
	v := ((o.A[0]-s.A[0])*dy - (o.A[1]-s.A[1])*dx) / den
	if u <= 0 || u >= 1 || v <= 0 || v >= 1 {
		return orb.Point{}, false
	}
	return orb.Point{math.Round(1e3 * (s.A[0] + u*dx)), math.Round(1e3 * (s.A[1] + u*dy))}, true
}
