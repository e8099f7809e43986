package crs

import (
	"math"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
)

// What the domain of a system hides is right or NaN, never another place.
func TestKrovak_outside_of_its_cone(t *testing.T) {
	r, _ := findSystem(5514)
	p := newProjection("krovak", datum(4156).ellipsoid(), r)
	if lon, lat := p.inverse(-1, 1e6); !math.IsNaN(lon) || !math.IsNaN(lat) {
		t.Errorf("behind the cone is %v, %v", degrees(lon), degrees(lat))
	}
	lon, lat := p.inverse(-1e6, 1e5)
	expect.That(t, !math.IsNaN(lon+lat), "beside the cone is nothing")
}

func TestObliqueStereographic_at_the_poles(t *testing.T) {
	r, _ := findSystem(28992)
	p := newProjection("stereo", datum(4289).ellipsoid(), r)
	for _, lat := range []float64{math.Pi / 2, -math.Pi / 2} {
		x, y := p.forward(0.3, lat)
		_, back := p.inverse(x, y)
		expect.That(t, finite(x, y) && math.Abs(back-lat) <= 1e-7, "latitude %v is %v, %v, and back %v", lat, x, y, back)
	}
}

// A grid may lie across the antimeridian, and count its longitudes to either side of it.
func TestGridPart_across_the_antimeridian(t *testing.T) {
	values := make([]float32, 2*3*2)
	for i := range 6 {
		values[2*i], values[2*i+1] = 3600, float32(3600*(i%3)) // east to west: 0, 1 and 2 degrees to the west
	}
	for _, box := range []Bounds{{MinX: 179, MinY: 0, MaxX: 181, MaxY: 1}, {MinX: -181, MinY: 0, MaxX: -179, MaxY: 1}} {
		f := newGridFile("test", false, []gridPart{{box: box, stepX: 1, stepY: 1, columns: 3, rows: 2, values: values}})
		for lon, want := range map[float64]float64{179: 177, 179.5: 178, -179: -179, 180: 179, -180: 179, -179.5: 180} {
			x, y, ok := f.apply(lon, 0.5, false)
			expect.That(t, ok && math.Abs(math.Remainder(x-want, 360)) <= 1e-9 && y == 1.5 && x >= -180 && x <= 180, "%v: longitude %v becomes %v, %v, %t; want %v", box, lon, x, y, ok, want)
		}
		_, _, ok := f.apply(178.9, 0.5, false)
		expect.That(t, !ok, "%v: 178.9 is in it", box)
	}
}
