package crs

import "strings"

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

// Guess names the systems in whose area of use two numbers would lie, most
// special first, for a message to whoever declared another one. It is empty when
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
	ranges := codeRanges()
	out := make([]Candidate, 0, len(ranges))
	for _, r := range ranges {
		if c := candidate(r, x, y); len(c.Codes) > 0 {
			out = append(out, c)
		}
	}
	return out
}

// candidate returns the projected systems of a range of codes in which the
// numbers lie; without codes there is none.
func candidate(codes [2]int, x, y float64) Candidate {
	out := Candidate{AxisOrder: AxisXY}
	last := codes[1]
	if zonesAlike(codes[0]) {
		last = codes[0]
	}
	for code := codes[0]; code <= last; code++ {
		c, ok := define(code)
		if ok && c.projection != nil && c.Contains(x, y) {
			out.Codes, out.Name = append(out.Codes, c.code), family(c.name)
		}
	}
	if len(out.Codes) > 0 && last < codes[1] {
		out.Codes = listCodes(codes)
	}
	return out
}

// zonesAlike reports whether all zones of a family have the same area relative to
// their central meridian, so that one speaks for all.
func zonesAlike(first int) bool { return first == 32601 || first == 32701 }

// family returns the name of a CRS without the number of a zone.
func family(name string) string {
	base, zone, found := strings.Cut(name, " zone ")
	switch {
	case !found:
		return name
	case strings.HasSuffix(zone, "S"):
		return base + " south"
	}
	return base + " north"
}
