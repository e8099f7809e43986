package crs

import (
	"cmp"
	"slices"
	"strings"
)

// Candidate is one or more systems that two numbers may be coordinates of.
type Candidate struct {
	// Codes are short names. The zones of UTM stand together: from one
	// coordinate nobody can tell which of them it is in.
	Codes []string

	// Name is the name that they have in common, "ETRS89 / UTM north".
	Name string

	// AxisOrder is the order in which the numbers would have to be read.
	AxisOrder AxisOrder
}

// String writes the codes shortly, with the name.
func (c Candidate) String() string {
	s := strings.Join(shorten(c.Codes), ", ") + " (" + c.Name
	if c.AxisOrder == AxisYX {
		s += ", latitude first"
	}
	return s + ")"
}

// Guess names the systems in whose area of use two numbers would lie, those that are
// used most first, for a message about another one that was declared. It is empty when
// there is none. It never decides: the same numbers are a place in many systems.
//
// Numbers in the range of longitude and latitude are only ever that; a pair in
// the range of latitude and longitude is named as swapped.
func Guess(x, y float64) []Candidate {
	world := Bounds{-180, -90, 180, 90}
	degrees := Candidate{Codes: []string{"EPSG:4326", "OGC:CRS84"}, Name: "longitude and latitude", AxisOrder: AxisXY}
	switch {
	case world.Contains(x, y):
		return []Candidate{degrees}
	case world.Contains(y, x):
		degrees.AxisOrder, degrees.Codes = AxisYX, degrees.Codes[:1]
		return []Candidate{degrees}
	case Bounds{-360, -90, 360, 90}.Contains(x, y):
		return nil // degrees all the same, though of no system here
	}
	return projectedAt(x, y)
}

// place is a system in whose area two numbers lie.
type place struct {
	rank         int
	code, family string
}

// projectedAt returns the projected systems in whose area the numbers lie, in the
// order of [Codes]. The zones of a family stand together.
func projectedAt(x, y float64) []Candidate {
	var found []place
	alike := map[string]bool{} // by family: what one zone says goes for all
	for r := range rows(systemTable) {
		if r[colBox] == "" || !r.bounds(colBox).Contains(x, y) {
			continue
		}
		name := family(r[colName])
		inside, known := alike[name]
		if !known {
			inside = r.system().Contains(x, y)
		}
		if zonesAlike(r.code(colCode)) {
			alike[name] = inside
		}
		if inside {
			found = append(found, place{r.code(colRank), r[colCode], name})
		}
	}
	slices.SortFunc(found, func(a, b place) int { return cmp.Compare(a.rank, b.rank) })
	var out []Candidate
	for _, p := range found {
		last := len(out) - 1
		if last < 0 || out[last].Name != p.family {
			out = append(out, Candidate{Name: p.family, AxisOrder: AxisXY})
			last++
		}
		out[last].Codes = append(out[last].Codes, "EPSG:"+p.code)
	}
	return out
}

// zonesAlike reports whether the zones of the family of a code have all the same area
// relative to their central meridian, so that one speaks for all.
func zonesAlike(code int) bool {
	return code > 32600 && code <= 32660 || code > 32700 && code <= 32760
}

// family returns the name of a CRS without the number of a zone.
func family(name string) string {
	base, zone, found := strings.Cut(name, " zone ")
	switch {
	case !found:
		return name
	case strings.HasSuffix(zone, "S"):
		return base + " south"
	case strings.HasSuffix(zone, "N"):
		return base + " north"
	}
	return base
}
