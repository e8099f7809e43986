package crs

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
)

// UnknownError is returned for a name that is not the name of a supported CRS. It is permanent: a retry does not help.
type UnknownError struct {
	Name string // as it was given
}

// Error joins [UnknownError.Problem] and [UnknownError.Fix].
func (e *UnknownError) Error() string { return e.Problem() + "; " + e.Fix() }

// Problem states that the name is unknown and repeats it.
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
	nearest   = 4  // systems in a message
	nextCodes = 20 // the largest difference between a code and a suggested one
)

// instead maps codes that often occur in data to the code to use: the successor of a withdrawn or private code, or the
// horizontal part of a system with heights.
func instead() map[string]string {
	return map[string]string{
		"900913": "3857", "3785": "3857", "102100": "3857", "102113": "3857",
		"4979": "4326", "4978": "4326", "4937": "4258", "5555": "25832", "5556": "25833", "7415": "28992", "7405": "27700",
	}
}

// near lists supported systems with their names: the replacement of a code if there is one, otherwise the systems with
// almost the same digits or the next numbers.
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
			apart /= 1e6 // a mistyped digit ranks before any other difference
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

// oneEdit reports whether one digit was changed, left out or added, or two neighbouring digits were exchanged.
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
