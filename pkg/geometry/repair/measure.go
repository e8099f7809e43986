package repair

import (
	"math"

	"github.com/paulmach/orb"
	"github.com/switchback-geo/switchback/pkg/geometry"
)

// areaOf returns the area of polygons in the plane: exteriors minus holes.
func areaOf(polygons orb.MultiPolygon) float64 {
	area := 0.0
	for _, polygon := range polygons {
		for i, ring := range polygon {
			if part := math.Abs(geometry.DoubledArea(ring)) / 2; i == 0 {
				area += part
			} else {
				area -= part
			}
		}
	}
	return area
}

// onSphere returns the area of polygons in degrees on a sphere of radius 1: exteriors minus holes. Their edges are
// straight lines in longitude and latitude (RFC 7946).
func onSphere(polygons orb.MultiPolygon) float64 {
	area := 0.0
	for _, polygon := range polygons {
		for i, ring := range polygon {
			part := 0.0
			for j := 1; j < len(ring); j++ {
				part += underEdge(ring[j-1], ring[j])
			}
			if part = math.Abs(part); i == 0 {
				area += part
			} else {
				area -= part
			}
		}
	}
	return area
}

// nearlyLevel is the difference of latitudes, in radians, below which the sine along an edge is integrated by Simpson's
// rule. The error of the rule is smaller than the rounding there.
const nearlyLevel = 1e-4

// underEdge returns the signed area between an edge and the equator: the integral of the sine of the latitude along the
// edge.
func underEdge(a, b orb.Point) float64 {
	width, from, to := radians(b[0]-a[0]), radians(a[1]), radians(b[1])
	if math.Abs(to-from) < nearlyLevel {
		return width * (math.Sin(from) + math.Sin((from+to)/2)*4 + math.Sin(to)) / 6
	}
	return width * (math.Cos(from) - math.Cos(to)) / (to - from)
}

func radians(degrees float64) float64 { return degrees * math.Pi / 180 }

// lengthOf returns the length of all rings.
func lengthOf(polygon orb.Polygon) float64 {
	length := 0.0
	for _, ring := range polygon {
		for i := 1; i < len(ring); i++ {
			length += math.Hypot(ring[i][0]-ring[i-1][0], ring[i][1]-ring[i-1][1])
		}
	}
	return length
}
