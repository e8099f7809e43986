package validity_test

import (
	"slices"
	"testing"

	"github.com/paulmach/orb"
	"github.com/peterstace/simplefeatures/geom"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/rings"
)

// library gives polygons and lines the form of peterstace/simplefeatures.
func libraryPolygons(shape orb.MultiPolygon) geom.MultiPolygon {
	polygons := make([]geom.Polygon, len(shape))
	for i, polygon := range shape {
		lines := make([]geom.LineString, len(polygon))
		for j, ring := range polygon {
			lines[j] = libraryLine(ring)
		}
		polygons[i] = geom.NewPolygon(lines)
	}
	return geom.NewMultiPolygon(polygons)
}

func libraryLine(points []orb.Point) geom.LineString {
	flat := make([]float64, 0, 2*len(points))
	for _, p := range points {
		flat = append(flat, p[0], p[1])
	}
	return geom.NewLineString(geom.NewSequence(flat, geom.DimXY))
}

// agrees compares the verdict with that of the library, which has one fault: it
// asks only the first position of a hole whether the hole lies outside of its
// exterior or in another hole, and learns nothing from one that lies on the other
// ring. When the holes begin elsewhere it sees the fault.
func agrees(t *testing.T, shape orb.MultiPolygon) (valid bool) {
	t.Helper()
	fault, theirs := judged(t, shape), libraryPolygons(shape).Validate()
	if (fault == nil) == (theirs == nil) {
		return fault == nil
	}
	for by := 0; by < 30 && fault != nil; by++ {
		if libraryPolygons(begunElsewhere(shape, by)).Validate() != nil {
			return false
		}
	}
	t.Errorf("got %v, the library says %v: %s", fault, theirs, libraryPolygons(shape).AsText())
	return fault == nil
}

// begunElsewhere begins every hole by some positions later.
func begunElsewhere(shape orb.MultiPolygon, by int) orb.MultiPolygon {
	out := shape.Clone()
	for _, polygon := range out {
		for j := 1; j < len(polygon); j++ {
			open := polygon[j][:len(polygon[j])-1]
			begin := by % len(open)
			polygon[j] = rings.Closed(slices.Concat(open[begin:], open[:begin])...)
		}
	}
	return out
}

func TestValid_agrees_with_the_library(t *testing.T) {
	const seed, n = 7, 20_000
	random := rings.NewRandom(seed)
	valid := 0
	for range n {
		if agrees(t, random.Polygons()) {
			valid++
		}
	}
	t.Logf("seed %d: %d of %d valid", seed, valid, n)
	expect.That(t, valid >= n/10 && valid <= n/2, "%d of %d are valid: that is no fair mixture", valid, n)
}

func TestSimple_agrees_with_the_library(t *testing.T) {
	const seed, n = 11, 20_000
	random := rings.NewRandom(seed)
	simple := 0
	for range n {
		line := random.Line()
		fault := isSimple(t, line)
		theirs := libraryLine(line).IsSimple()
		expect.That(t, theirs == (fault == nil), "got %v, the library says %v: %v", fault, theirs, line)
		if fault == nil {
			simple++
		}
	}
	t.Logf("seed %d: %d of %d simple", seed, simple, n)
	expect.That(t, simple >= n/10 && simple <= 9*n/10, "%d of %d are simple: that is no fair mixture", simple, n)
}

// What does not depend on direction: a verdict stays when rings run the other way,
// when they begin elsewhere, and when the map is mirrored. These change no digit.
func TestValid_does_not_depend_on_direction(t *testing.T) {
	random := rings.NewRandom(13)
	for range 5_000 {
		shape := random.Polygons()
		valid := judged(t, shape) == nil
		for name, same := range sameShapes(shape) {
			fault := judged(t, same)
			must.That(t, (fault == nil) == valid, "valid %v, but %s %v: %v", valid, name, fault, shape)
		}
	}
}

func sameShapes(shape orb.MultiPolygon) map[string]orb.MultiPolygon {
	out := map[string]orb.MultiPolygon{"with other beginnings": begunElsewhere(shape, 1)}
	for name, change := range map[string]func(orb.Ring){
		"reversed": func(ring orb.Ring) { ring.Reverse() },
		"with longitude and latitude exchanged": func(ring orb.Ring) {
			for i, p := range ring {
				ring[i] = orb.Point{p[1], p[0]}
			}
		},
		"turned upside down": func(ring orb.Ring) {
			for i, p := range ring {
				ring[i] = orb.Point{-p[0], -p[1]}
			}
		},
	} {
		changed := shape.Clone()
		for _, polygon := range changed {
			for _, ring := range polygon {
				change(ring)
			}
		}
		out[name] = changed
	}
	return out
}

// FuzzValid compares the verdict on rings of a small grid, where the library's
// arithmetic is exact, and where nearly everything touches.
func FuzzValid(f *testing.F) {
	f.Add([]byte{0, 0, 2, 2, 2, 0, 0, 2}, uint8(0))
	f.Add([]byte{0, 0, 9, 0, 9, 9, 0, 9, 1, 1, 8, 1, 8, 8, 1, 8, 4, 4, 5, 4, 5, 5, 4, 5}, uint8(4))
	f.Fuzz(func(t *testing.T, data []byte, split uint8) {
		shape := orb.MultiPolygon{nil}
		var corners orb.Ring
		for i := 0; i+1 < len(data) && i < 80; i += 2 {
			corners = append(corners, orb.Point{float64(data[i] % 12), float64(data[i+1] % 12)})
			if len(corners) < 3+int(split%6) && i+3 < len(data) {
				continue
			}
			if len(corners) < 3 {
				return
			}
			last := len(shape) - 1
			shape[last] = append(shape[last], rings.Closed(corners...))
			if corners = nil; split >= 128 && len(shape[last]) == 2 {
				shape = append(shape, nil)
			}
		}
		if len(shape[0]) == 0 {
			return
		}
		agrees(t, shape)
		for name, same := range sameShapes(shape) {
			fault := judged(t, same)
			must.That(t, (fault == nil) == (judged(t, shape) == nil), "%s %v: %v", name, fault, shape)
		}
	})
}
