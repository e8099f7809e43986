package crs

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// datum is a geodetic datum, identified by the EPSG code of its geographic system.
type datum int

// wgs84 is the datum to which every other datum has an operation.
const wgs84 datum = 4326

// ellipsoid returns the ellipsoid of the datum.
func (d datum) ellipsoid() ellipsoid {
	r, ok := findSystem(int(d))
	if !ok {
		return ellipsoid{}
	}
	return newEllipsoid(r.number(colParallel1), 1/r.number(colParallel2))
}

// code returns the short name of the datum's geographic system.
func (d datum) code() string { return "EPSG:" + strconv.Itoa(int(d)) }

// name returns the name of the datum's geographic system.
func (d datum) name() string {
	r, ok := findSystem(int(d))
	if !ok {
		return ""
	}
	return r[colName]
}

// shiftTable has one line for each published operation between two datums. It is
// written by testdata/table.py from the EPSG dataset.
//
//go:embed shifts.csv
var shiftTable string

// These are the columns of shiftTable.
const (
	shiftName     = 1
	shiftFrom     = 2
	shiftTo       = 3
	shiftAccuracy = 4
	shiftKind     = 5
	shiftParams   = 6 // tx, ty, tz in metres, rx, ry, rz in seconds, scale in ppm
	shiftFiles    = 13
	shiftNote     = 14
	shiftColumns  = 15
)

// shift is a published operation between two datums. A shift of the kind null keeps latitude and longitude and ignores
// the ellipsoids, as PROJ does: their difference is at most 0.1 mm.
type shift struct {
	from, to datum
	epsg     int
	name     string
	accuracy float64 // metres, from the EPSG dataset unless note is set
	note     string  // the source of accuracy, if it is not the EPSG dataset
	kind     shiftMethod
	params   helmertParameters // only of kinds with parameters
	files    []string          // names of the grid file; a name after "!" is a file that leads from to to from
	grid     *gridFile         // only of the kind ntv2
}

// shiftMethod is the method of an operation.
type shiftMethod string

const (
	shiftNull shiftMethod = "null"
	shiftGrid shiftMethod = "ntv2"
)

// title returns the code and name of the operation.
func (s *shift) title() string { return "EPSG:" + strconv.Itoa(s.epsg) + " " + s.name }

// method returns the name of the method for people.
func (s *shift) method() string {
	switch s.kind {
	case shiftNull:
		return "null transformation"
	case shiftGrid:
		return "grid file " + s.grid.name + ", NTv2, method 9615"
	case "translation":
		return "geocentric translations, method 9603"
	case "frame":
		return "coordinate frame rotation, method 9607"
	default:
		return "position vector transformation, method 9606"
	}
}

// gridSource returns the grid file of an operation, or nil if there is none.
type gridSource func(s *shift) *gridFile

// noGrids is the source without any file.
func noGrids(*shift) *gridFile { return nil }

// shifts lists the available operations of shiftTable. A grid replaces the parameters that start from the same datum,
// even if these state a better accuracy: that figure can be the one of WGS 84 alone.
func shifts(grids gridSource) []shift {
	var all, out []shift
	better := map[datum]bool{}
	for r := range rows(shiftTable) {
		s := r.shift()
		if s.kind == shiftGrid {
			if s.grid = grids(&s); s.grid == nil {
				continue
			}
			better[s.from] = true
		}
		all = append(all, s)
	}
	for _, s := range all {
		if s.kind == shiftGrid || !better[s.from] {
			out = append(out, s)
		}
	}
	return out
}

// shift returns the operation in a row of shiftTable.
func (r row) shift() shift {
	s := shift{
		epsg: r.code(colCode), name: r[shiftName], from: datum(r.code(shiftFrom)), to: datum(r.code(shiftTo)),
		accuracy: r.number(shiftAccuracy), note: r[shiftNote], kind: shiftMethod(r[shiftKind]),
	}
	if s.kind == shiftGrid {
		s.files = strings.Split(r[shiftFiles], ",")
		return s
	}
	n := func(i int) float64 { return r.number(shiftParams + i) }
	s.params = helmertParameters{tx: n(0), ty: n(1), tz: n(2), rx: n(3), ry: n(4), rz: n(5), scale: n(6)}
	return s
}

// leg is one shift of a path between two datums. It can be backwards.
type leg struct {
	shift

	backwards bool
}

func (l *leg) start() datum {
	if l.backwards {
		return l.to
	}
	return l.from
}

func (l *leg) end() datum {
	if l.backwards {
		return l.from
	}
	return l.to
}

// way is the path from one datum to another.
type way struct {
	legs     []leg
	accuracy float64 // the sum of all legs, as if all errors pointed in one direction
}

// maxLegs is the largest number of operations in a path.
const maxLegs = 3

// route returns the path between two datums with the best stated accuracy, and the shorter one of equally good paths. A
// path always exists, because every datum has an operation to WGS 84.
func route(from, to datum, grids gridSource) way {
	if from == to {
		return way{}
	}
	var legs []leg
	for _, s := range shifts(grids) {
		legs = append(legs, leg{shift: s}, leg{shift: s, backwards: true})
	}
	best := map[datum]way{from: {}}
	for range maxLegs {
		next := maps.Clone(best)
		for _, l := range legs {
			w, reached := best[l.start()]
			if !reached {
				continue
			}
			longer := way{legs: append(slices.Clip(w.legs), l), accuracy: w.accuracy + l.accuracy}
			if known, reached := next[l.end()]; !reached || longer.accuracy < known.accuracy {
				next[l.end()] = longer
			}
		}
		best = next
	}
	return best[to]
}

// describe formats the legs as the source of an accuracy.
func describe(legs []leg) string {
	parts := make([]string, 0, len(legs))
	for _, l := range legs {
		method := l.method()
		if l.backwards {
			method += ", reversed"
		}
		accuracy := fmt.Sprintf("%g m as EPSG states", l.accuracy)
		if l.note != "" {
			accuracy = fmt.Sprintf("%g m, %s", l.accuracy, l.note)
		}
		parts = append(parts, l.title()+" ("+method+"): "+accuracy)
	}
	return strings.Join(parts, "; ")
}
