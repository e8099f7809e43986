package validity_test

import (
	"slices"
	"testing"

	"github.com/paulmach/orb"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/rings"
)

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

// FuzzValid holds the verdict on rings of a small grid, where nearly everything touches, to what does not depend on direction.
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
		valid := judged(t, shape) == nil
		for name, same := range sameShapes(shape) {
			fault := judged(t, same)
			must.That(t, (fault == nil) == valid, "%s %v: %v", name, fault, shape)
		}
	})
}
