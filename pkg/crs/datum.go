package crs

import (
	"fmt"
	"strings"
)

// datum is a geodetic datum, by its place in the list of [frames].
type datum int

const (
	wgs84 datum = iota
	etrs89
	nad83
	rgf93
	osgb36
	ch1903plus
)

// ellipsoid returns the ellipsoid of the datum.
func (d datum) ellipsoid() ellipsoid {
	switch d {
	case wgs84:
		return wgs84Ellipsoid()
	case osgb36:
		return airy1830()
	case ch1903plus:
		return bessel1841()
	default:
		return grs80()
	}
}

// shift is a published operation between two datums. One without parameters
// is null: it takes the latitude and longitude over as they are.
type shift struct {
	from, to datum
	epsg     int
	name     string
	accuracy float64 // metres; as the EPSG dataset states it, unless there is a note
	note     string  // where the accuracy comes from instead
	params   *helmertParameters
}

const (
	osgbNote  = "the worst of the 40 test points of OSTN15, their mean is 1.9 m and EPSG states 2 m"
	nad83Note = "as EPSG states, though not for Hawaii, Puerto Rico and the outer Aleutians"
)

// shifts lists the operations that need no grid file. Each pair of datums is
// joined by one or two of them.
//
// EPSG states 2 m for 1314. That is the mean distance of the 40 points that the
// Ordnance Survey published to test OSTN15, which defines OSGB36; the worst of
// them, on islands, are 5 m off (TestOSTN15).
func shifts() []shift {
	osgb := helmertParameters{
		tx: 446.448, ty: -125.157, tz: 542.06,
		rx: 0.15, ry: 0.247, rz: 0.842, scale: -20.489,
	}
	swiss := helmertParameters{tx: 674.374, ty: 15.056, tz: 405.346}
	return []shift{
		{from: etrs89, to: wgs84, epsg: 1149, name: "ETRS89 to WGS 84 (1)", accuracy: 1},
		{from: nad83, to: wgs84, epsg: 1188, name: "NAD83 to WGS 84 (1)", accuracy: 4, note: nad83Note},
		{from: rgf93, to: wgs84, epsg: 1671, name: "RGF93 v1 to WGS 84 (1)", accuracy: 1},
		{from: rgf93, to: etrs89, epsg: 1591, name: "RGF93 v1 to ETRS89 (1)", accuracy: 0.1},
		{from: osgb36, to: wgs84, epsg: 1314, name: "OSGB36 to WGS 84 (6)", accuracy: 5, note: osgbNote, params: &osgb},
		{from: ch1903plus, to: wgs84, epsg: 1676, name: "CH1903+ to WGS 84 (1)", accuracy: 1, params: &swiss},
		{from: ch1903plus, to: etrs89, epsg: 1647, name: "CH1903+ to ETRS89 (1)", accuracy: 0.1, params: &swiss},
	}
}

// leg is a shift on a way from one datum to another, perhaps backwards.
type leg struct {
	shift

	backwards bool
}

func (l leg) end() datum {
	if l.backwards {
		return l.from
	}
	return l.to
}

// legsFrom lists the shifts that begin or end at a datum.
func legsFrom(d datum) []leg {
	all := shifts()
	out := make([]leg, 0, len(all))
	for _, s := range all {
		if s.from == d {
			out = append(out, leg{shift: s})
		}
		if s.to == d {
			out = append(out, leg{shift: s, backwards: true})
		}
	}
	return out
}

// route returns the way between two datums with the best stated accuracy: no
// leg, one or two. As each datum has a shift to WGS 84, there always is one.
func route(from, to datum) []leg {
	if from == to {
		return nil
	}
	var best []leg
	for _, first := range legsFrom(from) {
		if first.end() == to {
			best = better(best, []leg{first})
			continue
		}
		for _, second := range legsFrom(first.end()) {
			if second.end() == to {
				best = better(best, []leg{first, second})
			}
		}
	}
	return best
}

func better(a, b []leg) []leg {
	if a == nil || accuracyOf(b) < accuracyOf(a) {
		return b
	}
	return a
}

// accuracyOf adds up the accuracies, as if all errors pointed one way.
func accuracyOf(legs []leg) float64 {
	var sum float64
	for _, l := range legs {
		sum += l.accuracy
	}
	return sum
}

// describe writes the legs as a sentence about the source of an accuracy.
func describe(legs []leg) string {
	parts := make([]string, 0, len(legs))
	for _, l := range legs {
		method := "null transformation"
		if l.params != nil {
			method = l.params.method()
		}
		if l.backwards {
			method += ", reversed"
		}
		accuracy := fmt.Sprintf("%g m as EPSG states", l.accuracy)
		if l.note != "" {
			accuracy = fmt.Sprintf("%g m, %s", l.accuracy, l.note)
		}
		parts = append(parts, fmt.Sprintf("EPSG:%d %s (%s): %s", l.epsg, l.name, method, accuracy))
	}
	return strings.Join(parts, "; ")
}
