package crs_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/crs"
)

// FuzzForward holds every pair of systems to three promises: no panic, no result
// that is not finite without an error, and the way back ends at the place where it began.
func FuzzForward(f *testing.F) {
	codes := crs.Codes()
	for i, p := range [][2]float64{
		{12, 55}, {691875.63, 6098907.83}, {2600000, 1200000}, {-180, -90}, {180, 90}, {0, 0}, {20037508.343, 0},
		{math.Inf(1), 0}, {math.NaN(), math.NaN()}, {1e308, -1e308}, {5e-324, 1e-300}, {4321000, 3210000},
	} {
		f.Add(uint16(i), uint16(3*i+1), p[0], p[1])
		f.Add(uint16(7*i), uint16(0), p[0], p[1])
	}
	// The right edge of the map, seen from a zone at its left edge.
	f.Add(uint16(slices.Index(codes, "EPSG:3857")), uint16(slices.Index(codes, "EPSG:32604")), 20037508.343, 0.0)
	f.Fuzz(func(t *testing.T, a, b uint16, x, y float64) {
		holdPromises(t, codes[int(a)%len(codes)], codes[int(b)%len(codes)], x, y)
	})
}

// TestForward_pairs does the same with places that each source does reach: from every
// system to twenty others, by chance but always the same ones.
func TestForward_pairs(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	codes := crs.Codes()
	for _, from := range codes {
		start := mustTransform(t, "OGC:CRS84", from)
		for range 20 {
			if x, y, err := start.Forward(within(rng, start.To().Domain())); err == nil {
				holdPromises(t, from, codes[rng.IntN(len(codes))], x, y)
			}
		}
	}
}

func holdPromises(t *testing.T, from, to string, x, y float64) {
	t.Helper()
	gotX, gotY, err := mustTransform(t, from, to).Forward(x, y)
	if err != nil {
		outside := new(crs.RangeError)
		must.That(t, errors.As(err, &outside), "%s to %s of %v, %v: %v", from, to, x, y, err)
		return
	}
	must.That(t, !math.IsNaN(gotX-gotX) && !math.IsNaN(gotY-gotY), "%s to %s of %v, %v gives %v, %v without an error", from, to, x, y, gotX, gotY)
	back := mustTransform(t, to, from)
	backX, backY, err := back.Forward(gotX, gotY)
	if err != nil {
		if outside := new(crs.RangeError); errors.As(err, &outside) && nearEdge(t, back.To(), x, y) {
			return
		}
		t.Fatalf("%s to %s of %v, %v gives %v, %v, and back: %v", from, to, x, y, gotX, gotY, err)
	}
	off := metres(back.To().Unit(), x, y, backX, backY)
	must.That(t, off <= 0.05 || samePlace(t, back.To(), x, y, backX, backY), "%s to %s of %v, %v gives %v, %v, and back is %g m away", from, to, x, y, gotX, gotY, off)
}

// samePlace reports whether two coordinates of a system are within 0.05 m of each other on the
// globe: a map of the whole world has both of its edges at the same meridian.
func samePlace(t *testing.T, c *crs.CRS, x1, y1, x2, y2 float64) bool {
	t.Helper()
	geographic := mustTransform(t, c.Code(), "OGC:CRS84")
	lon1, lat1, err1 := geographic.Forward(x1, y1)
	lon2, lat2, err2 := geographic.Forward(x2, y2)
	return err1 == nil && err2 == nil && metres(crs.Degree, lon1, lat1, lon2, lat2) <= 0.05
}

// nearEdge reports whether a coordinate is so near to the edge of the domain of a
// system that a micrometre may decide.
func nearEdge(t *testing.T, c *crs.CRS, x, y float64) bool {
	t.Helper()
	geographic := must.Get(crs.NewTransform(c, mustLookup(t, "OGC:CRS84")))(t)
	lon, lat, err := geographic.Forward(x, y)
	d := c.Domain()
	const near = 1e-6
	return err == nil && (math.Abs(lon-d.MinX) < near || math.Abs(lon-d.MaxX) < near || math.Abs(lat-d.MinY) < near || math.Abs(lat-d.MaxY) < near)
}

// FuzzLookup holds a name to the promise that it is known or an UnknownError.
func FuzzLookup(f *testing.F) {
	for _, name := range []string{
		"EPSG:25832", "urn:ogc:def:crs:EPSG::4326", "http://www.opengis.net/def/crs/OGC/1.3/CRS84", "[EPSG:3035]", "", ":", "[", "\xff",
	} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		c, err := crs.Lookup(name)
		unknown := new(crs.UnknownError)
		must.That(t, (c == nil) == errors.As(err, &unknown) && (c == nil || c.Code() != ""), "%q gives %v, %v", name, c, err)
	})
}
