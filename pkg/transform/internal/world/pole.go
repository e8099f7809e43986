package world

import (
	"math"

	"github.com/paulmach/orb"
	"github.com/switchback-geo/switchback/pkg/crs"
)

// poleSlack is the distance in degrees within which an edge or a position counts as at the pole: about a centimetre.
const poleSlack = 1e-7

// isPole reports whether a projected position is a pole. Its longitude has no meaning.
func isPole(p orb.Point) bool { return math.Abs(p[1]) > 90-poleSlack }

// atPoles replaces each position at a pole by two with the longitudes of its neighbours, so that both edges run along
// meridians as they do on the ground. A source in degrees already has longitudes there.
func (p *projecting) atPoles(source, projected []orb.Point, z []float64, closed bool) (from, to []orb.Point, heights []float64) {
	n := len(projected)
	poles := 0
	for _, q := range projected {
		if isPole(q) {
			poles++
		}
	}
	if poles == 0 || n < 2 || p.transform.From().Unit() == crs.Degree {
		return source, projected, z
	}
	add := func(i int, lon float64) {
		from = append(from, source[i])
		to = append(to, orb.Point{lon, projected[i][1]})
		if z != nil {
			heights = append(heights, z[i])
		}
	}
	for i, q := range projected {
		if !isPole(q) {
			add(i, q[0])
			continue
		}
		if i > 0 {
			add(i, projected[i-1][0])
		}
		switch {
		case i < n-1:
			add(i, projected[i+1][0])
		case closed && isPole(projected[0]):
			add(i, projected[1][0]) // as it begins
		}
	}
	return from, to, heights
}
