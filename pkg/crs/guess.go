package crs

import (
	"cmp"
	"slices"
	"strings"
)

// Candidate is one or more systems to which two numbers can belong.
type Candidate struct {
	// Codes are short names. All UTM zones of a family are one candidate, because a single coordinate does not tell the
	// zone.
	Codes []string

	// Name is the name that they have in common, "ETRS89 / UTM north".
	Name string

	// AxisOrder is the order in which the numbers fit.
	AxisOrder AxisOrder
}

// String returns the codes in short form, with the name.
func (c Candidate) String() string {
	s := strings.Join(shorten(c.Codes), ", ") + " (" + c.Name
	if c.AxisOrder == AxisYX {
		s += ", latitude first"
	}
	return s + ")"
}

// Guess returns the systems in whose area of use two numbers lie, the most used first. It serves messages about another
// CRS that was declared. It is empty if none fits. It never decides, because the same numbers are a place in many
// systems.
//
// Numbers in the range of longitude and latitude are only that. A pair in the range of latitude and longitude is
// reported as swapped.
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
		return nil // degrees, though of no supported system
	}
	return projectedAt(x, y)
}

// place is a system in whose area two numbers lie.
type place struct {
	rank         int
	code, family string
}

// projectedAt returns the projected systems in whose area the numbers lie, in the order of [Codes]. All zones of a
// family are one candidate.
func projectedAt(x, y float64) []Candidate {
	var found []place
	alike := map[string]bool{} // by family: the answer of one zone holds for all
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

// zonesAlike reports whether all zones in the family of a code have the same area relative to their central meridian, so
// that one zone answers for all.
func zonesAlike(code int) bool {
	return code > 32600 && code <= 32660 || code > 32700 && code <= 32760
}

// family returns the name of a CRS without the number of its zone.
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
