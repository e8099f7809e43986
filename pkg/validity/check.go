package validity

import (
	"context"
	"math"
	"slices"
	"strconv"

	"github.com/paulmach/orb"
)

// Valid returns a rule of validity that a geometry breaks, or nil. Points and lines that meet themselves are valid; see
// [Simple]. The error is that of a context that ended before the verdict.
func Valid(ctx context.Context, shape orb.Geometry) (*Fault, error) { return valid(ctx, shape, "") }

// Simple returns a place where a geometry is not simple, or nil: a line that meets itself elsewhere than at its two
// ends, or a position that a MultiPoint has twice. It judges the lines of a MultiLineString and the members of a
// collection separately. OGC requires more, but two lines of a network normally cross. [Valid] judges polygons. The
// error is that of a context that ended before the verdict.
func Simple(ctx context.Context, shape orb.Geometry) (*Fault, error) { return simple(ctx, shape, "") }

func valid(ctx context.Context, shape orb.Geometry, path string) (*Fault, error) {
	at := path + "/coordinates"
	switch shape := shape.(type) {
	case orb.LineString:
		return checkLine(shape, at), nil
	case orb.MultiLineString:
		for i, line := range shape {
			if fault := checkLine(line, at+"/"+strconv.Itoa(i)); fault != nil {
				return fault, nil
			}
		}
	case orb.Polygon:
		return checkPolygons(ctx, orb.MultiPolygon{shape}, func(_, ring int) string { return at + "/" + strconv.Itoa(ring) })
	case orb.MultiPolygon:
		return checkPolygons(ctx, shape, func(polygon, ring int) string {
			return at + "/" + strconv.Itoa(polygon) + "/" + strconv.Itoa(ring)
		})
	case orb.Collection:
		for i, member := range shape {
			if fault, err := valid(ctx, member, path+"/geometries/"+strconv.Itoa(i)); fault != nil || err != nil {
				return fault, err
			}
		}
	}
	return nil, nil
}

func simple(ctx context.Context, shape orb.Geometry, path string) (*Fault, error) {
	at := path + "/coordinates"
	switch shape := shape.(type) {
	case orb.MultiPoint:
		seen := make(map[orb.Point]bool, len(shape))
		for i, p := range shape {
			if seen[p] {
				return &Fault{Rule: NotSimple, Path: at + "/" + strconv.Itoa(i), At: p}, nil
			}
			seen[p] = true
		}
	case orb.LineString:
		return meetsItself(ctx, shape, at)
	case orb.MultiLineString:
		for i, line := range shape {
			if fault, err := meetsItself(ctx, line, at+"/"+strconv.Itoa(i)); fault != nil || err != nil {
				return fault, err
			}
		}
	case orb.Collection:
		for i, member := range shape {
			if fault, err := simple(ctx, member, path+"/geometries/"+strconv.Itoa(i)); fault != nil || err != nil {
				return fault, err
			}
		}
	}
	return nil, nil
}

// checkLine judges a line. A line without positions is empty and valid.
func checkLine(line orb.LineString, path string) *Fault {
	if i := firstInfinite(line); i >= 0 {
		return &Fault{Rule: NotFinite, Path: path, At: line[i]}
	}
	if len(line) > 0 && !hasTwo(line) {
		return &Fault{Rule: OneDistinctPoint, Path: path, At: line[0]}
	}
	return nil
}

// checkPolygons judges polygons, each ring first on its own.
func checkPolygons(ctx context.Context, polygons orb.MultiPolygon, path func(polygon, ring int) string) (*Fault, error) {
	rings, positions := 0, 0
	for i, polygon := range polygons {
		rings += len(polygon)
		for j, ring := range polygon {
			if fault := checkRing(ring); fault != nil {
				fault.Path = path(i, j)
				return fault, nil
			}
			positions += len(ring)
		}
	}
	if rings == 0 || rings == 1 && len(polygons) == 1 && plain(polygons[0][0]) {
		return nil, nil
	}
	s := newJudge(rings, positions)
	for i, polygon := range polygons {
		for j, ring := range polygon {
			s.add(ring, true, i, j)
		}
	}
	conflict, err := s.run(ctx)
	if conflict == nil || err != nil {
		return nil, err
	}
	polygon, ring := s.chains[conflict.chain].polygon, s.chains[conflict.chain].ring
	return &Fault{Rule: conflict.rule, Path: path(int(polygon), int(ring)), At: conflict.at}, nil
}

// checkRing judges what does not depend on the other rings.
func checkRing(ring orb.Ring) *Fault {
	if len(ring) == 0 {
		return &Fault{Rule: RingLength, At: orb.Point{math.NaN(), math.NaN()}}
	}
	if i := firstInfinite(ring); i >= 0 {
		return &Fault{Rule: NotFinite, At: ring[i]}
	}
	switch {
	case ring[0] != ring[len(ring)-1]:
		return &Fault{Rule: RingClosed, At: ring[0]}
	case !hasTwo(ring):
		return &Fault{Rule: OneDistinctPoint, At: ring[0]}
	}
	return nil
}

// meetsItself judges the simplicity of a line. A closed line is a ring. An invalid line is not judged.
func meetsItself(ctx context.Context, line orb.LineString, path string) (*Fault, error) {
	if len(line) == 0 || !hasTwo(line) || firstInfinite(line) >= 0 {
		return nil, nil
	}
	s := newJudge(1, len(line))
	s.add(line, line[0] == line[len(line)-1], 0, 0)
	conflict, err := s.run(ctx)
	if conflict == nil || err != nil {
		return nil, err
	}
	return &Fault{Rule: NotSimple, Path: path, At: conflict.at}, nil
}

// firstInfinite returns the index of a position with a NaN or an infinity, or -1.
func firstInfinite(positions []orb.Point) int {
	return slices.IndexFunc(positions, func(p orb.Point) bool { return p[0]-p[0] != 0 || p[1]-p[1] != 0 })
}

// hasTwo reports whether there are two distinct positions.
func hasTwo(positions []orb.Point) bool {
	for _, p := range positions {
		if p != positions[0] {
			return true
		}
	}
	return false
}
