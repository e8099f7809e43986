package crs

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
)

// UnknownError says that a name is not one of a supported CRS. It is permanent:
// no retry makes the name known.
type UnknownError struct {
	Name string // as it was given
}

// Supported lists what is supported, runs of numbers as their first and last one
// ("EPSG:32601-32660"); [Codes] has each.
func (e *UnknownError) Supported() []string { return shorten(Codes()) }

// Error joins [UnknownError.Problem] and [UnknownError.Fix].
func (e *UnknownError) Error() string { return e.Problem() + "; " + e.Fix() }

// Problem repeats the name.
func (e *UnknownError) Problem() string {
	return "unknown coordinate reference system " + strconv.Quote(cut(e.Name))
}

// Fix names the systems with the nearest codes, or the forms of a name.
func (e *UnknownError) Fix() string {
	words := near(e.Name)
	if len(words) == 0 {
		return "write such as EPSG:25832, urn:ogc:def:crs:EPSG::25832 or http://www.opengis.net/def/crs/EPSG/0/25832; docs/crs.md lists all"
	}
	return "the nearest that are supported: " + strings.Join(words, ", ") + "; docs/crs.md lists all"
}

const (
	nearest   = 4  // systems that a message names
	nextCodes = 20 // numbers that a code may be off
)

// instead is what to name for codes that data often come with: the successor of a
// withdrawn or private code, and the plane of a system with heights.
func instead() map[string]string {
	return map[string]string{
		"900913": "3857", "3785": "3857", "102100": "3857", "102113": "3857",
		"4979": "4326", "4978": "4326", "4937": "4258", "5555": "25832", "5556": "25833", "7415": "28992", "7405": "27700",
	}
}

// near lists supported systems with their names: the one to name instead of a code,
// otherwise those with almost the same digits or the next numbers.
func near(name string) []string {
	_, code, _ := splitName(strings.ToUpper(strings.TrimSpace(name)))
	if code == "" {
		code = strings.TrimSpace(name)
	}
	asked, err := strconv.Atoi(code)
	if err != nil {
		return nil
	}
	type neighbour struct {
		text  string
		apart float64
	}
	var all []neighbour
	successor := instead()[code]
	for r := range rows(systemTable) {
		apart := math.Abs(float64(asked - r.code(colCode)))
		switch {
		case r[colMethod] == methodDatum:
			continue
		case successor == r[colCode]:
			return []string{"EPSG:" + r[colCode] + " (" + r[colName] + ")"}
		case oneEdit(code, r[colCode]):
			apart /= 1e6 // a mistyped digit before any other number
		case apart > nextCodes:
			continue
		}
		all = append(all, neighbour{"EPSG:" + r[colCode] + " (" + r[colName] + ")", apart})
	}
	slices.SortStableFunc(all, func(a, b neighbour) int { return cmp.Compare(a.apart, b.apart) })
	var out []string
	for _, n := range all[:min(nearest, len(all))] {
		out = append(out, n.text)
	}
	return out
}

// oneEdit reports whether one digit was changed, left out or added, or two
// neighbours exchanged.
func oneEdit(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	switch {
	case len(b) == len(a)+1:
		return a[i:] == b[i+1:]
	case len(b) != len(a) || i == len(a):
		return false
	case a[i+1:] == b[i+1:]:
		return true
	}
	return i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
}
