package validity

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/paulmach/orb"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// sweptFault returns the verdict of the sweep on a polygon of one ring, without the comparison of edges.
func sweptFault(t *testing.T, ring orb.Ring) *Fault {
	t.Helper()
	if fault := checkRing(ring); fault != nil {
		fault.Path = "/coordinates/0"
		return fault
	}
	s := newJudge(1, len(ring))
	s.add(ring, true, 0, 0)
	conflict := must.Get(s.run(t.Context()))(t)
	if conflict == nil {
		return nil
	}
	return &Fault{Rule: conflict.rule, Path: "/coordinates/0", At: conflict.at}
}

// agrees compares the verdict on a ring, with its rule, path and place, with that of the sweep.
func agrees(t *testing.T, ring orb.Ring) (valid bool) {
	t.Helper()
	got := must.Get(Valid(t.Context(), orb.Polygon{ring}))(t)
	want := sweptFault(t, ring)
	must.That(t, told(got) == told(want), "%v: %s, want %s", ring, told(got), told(want))
	return got == nil
}

// told returns the complete text of a fault. Near the ends of the range the place may be NaN, which is not equal to
// itself.
func told(f *Fault) string {
	if f == nil {
		return "valid"
	}
	return fmt.Sprintf("%s at %x %x", f, math.Float64bits(f.At[0]), math.Float64bits(f.At[1]))
}

// nasty returns a ring of up to maxPlain + 2 edges around a point. Its corners are snapped to a grid, or lie on an edge,
// a corner or a line through two corners, to within a bit. It may have spikes and repeated corners, at any scale of a
// double.
func nasty(random *rand.Rand) orb.Ring {
	n := 3 + random.IntN(maxPlain)
	ring := make(orb.Ring, 0, n+1)
	for i := range n {
		angle, radius := 2*math.Pi*float64(i)/float64(n), 1+random.Float64()
		ring = append(ring, orb.Point{radius * math.Cos(angle), radius * math.Sin(angle)})
	}
	if random.IntN(2) == 0 {
		steps := float64(int(1) << random.IntN(6))
		for i, p := range ring {
			ring[i] = orb.Point{math.Round(p[0]*steps) / steps, math.Round(p[1]*steps) / steps}
		}
	}
	for range random.IntN(3) {
		spoil(random, ring)
	}
	scale, shift := 1.0, 0.0
	switch random.IntN(6) {
	case 0:
		scale = math.MaxFloat64 / 4
	case 1:
		scale = math.Pow10(random.IntN(600) - 320)
	case 2:
		shift = 180
		scale = math.Pow10(-random.IntN(15))
	}
	for i, p := range ring {
		ring[i] = orb.Point{p[0]*scale + shift, p[1]*scale - shift/2}
	}
	return append(ring, ring[0])
}

// spoil moves one corner.
func spoil(random *rand.Rand, ring orb.Ring) {
	at, a, b := random.IntN(len(ring)), ring[random.IntN(len(ring))], ring[random.IntN(len(ring))]
	next := ring[(at+1)%len(ring)]
	switch random.IntN(5) {
	case 0: // onto another corner
		ring[at] = a
	case 1: // onto a line through two corners, or beside it
		part := random.Float64()*1.5 - 0.25
		ring[at] = orb.Point{a[0] + part*(b[0]-a[0]), a[1] + part*(b[1]-a[1])}
	case 2: // by a bit
		ring[at][random.IntN(2)] = math.Nextafter(a[0], random.Float64())
	case 3: // to make a spike
		ring[(at+2)%len(ring)] = ring[at]
	default: // to continue a line
		ring[at] = orb.Point{(a[0] + next[0]) / 2, (a[1] + next[1]) / 2}
	}
}

// The comparison of edges agrees with the sweep on rings of every unpleasant kind.
func TestPlain_S0_8_gives_the_verdicts_of_the_sweep(t *testing.T) {
	random := rand.New(rand.NewPCG(8, 17))
	const turns = 3_000
	valid := 0
	for range turns {
		if agrees(t, nasty(random)) {
			valid++
		}
	}
	t.Logf("%d of %d rings are valid", valid, turns)
	expect.That(t, valid >= turns/10 && valid <= turns*9/10, "%d of %d rings are valid: one of the verdicts is hardly tested", valid, turns)
}
