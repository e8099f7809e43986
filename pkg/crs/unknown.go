package crs

import (
	"cmp"
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// nameTable has one line for each system of the EPSG dataset, and of ESRI's list,
// that is not supported. It is written by testdata/table.py, and is read for messages
// only.
//
//go:embed names.csv
var nameTable string

// The columns of nameTable.
const (
	nameCode     = iota // with the authority
	nameName            // in the dataset
	nameArea            // west, south, east, north in whole degrees; "" when there is none
	nameWhy             // see why
	nameReplaced        // code with the authority, or ""
	nameColumns
)

// UnknownError says that a name is not one of a supported CRS. It is permanent:
// no retry makes the name known.
type UnknownError struct {
	Name string // as it was given
}

// Supported lists what is supported, runs of numbers as their first and last one
// ("EPSG:32601-32660"); [Codes] has each.
func (e *UnknownError) Supported() []string { return shorten(Codes()) }

// nearest is how many systems a message names.
const nearest = 4

// Error joins [UnknownError.Problem] and [UnknownError.Fix].
func (e *UnknownError) Error() string { return e.Problem() + "; " + e.Fix() }

// Problem says what the name is, as far as the EPSG dataset and ESRI's list know it.
func (e *UnknownError) Problem() string {
	if r := entry(e.Name); r != nil {
		return fmt.Sprintf("the coordinate reference system %q is not supported: %s", cut(e.Name), r.why(e.Name))
	}
	return fmt.Sprintf("unknown coordinate reference system %q", cut(e.Name))
}

// Fix names the nearest systems that are supported, or the forms of a name.
func (e *UnknownError) Fix() string {
	var words []string
	for _, n := range Near(e.Name, nearest) {
		words = append(words, n.Code+" ("+n.Name+")")
	}
	if len(words) == 0 {
		return "write such as EPSG:25832, urn:ogc:def:crs:EPSG::25832 or http://www.opengis.net/def/crs/EPSG/0/25832; docs/crs.md lists all"
	}
	return "the nearest that are supported: " + strings.Join(words, ", ") + "; docs/crs.md lists all"
}

// entry returns the line of nameTable of a name, or nil. People write numbers of ESRI
// with EPSG before them.
func entry(name string) row {
	authority, code, _ := splitName(strings.ToUpper(strings.TrimSpace(name)))
	if _, err := strconv.Atoi(code); err != nil {
		return nil
	}
	for _, a := range []string{authority, "ESRI"} {
		start := strings.Index(nameTable, "\n"+a+":"+code+";")
		if start >= 0 && (authority == "EPSG" || authority == "ESRI") {
			line, _, _ := strings.Cut(nameTable[start+1:], "\n")
			return split(nil, line)
		}
	}
	return nil
}

// why says why a line of nameTable is not supported, and what to do.
func (r row) why(asked string) string {
	what := "it is " + r[nameName]
	esri := strings.HasPrefix(r[nameCode], "ESRI:")
	if esri && !strings.Contains(strings.ToUpper(asked), "ESRI") {
		what = "EPSG has no such code; it is ESRI's code of " + r[nameName]
	}
	switch {
	case r[nameReplaced] != "":
		return what + ", for which EPSG has " + r[nameReplaced] + " today"
	case esri:
		return what + ", which the EPSG dataset does not define; transform the data to a system with an EPSG code before they come in"
	}
	switch r[nameWhy] {
	case "u":
		return what + ", whose unit is not the metre"
	case "a":
		return what + ", whose axes do not point east and north"
	case "m":
		return what + ", whose projection method is not supported"
	case "d":
		return what + ", whose datum is not supported"
	case "3":
		return what + " with heights; name the system of its longitudes and latitudes"
	case "v":
		return what + ", a system of heights alone"
	case "c":
		return what + ", which has heights; name the system of its plane"
	case "g":
		return what + ", which is geocentric"
	default:
		return what + ", which has not been compared with PROJ"
	}
}

// Neighbour is a supported system that is near to a name which is not.
type Neighbour struct {
	Code, Name string
	Why        Nearness
}

// Nearness says why a system is near to a name.
type Nearness string

const (
	// NearReplaces is the system that replaces a withdrawn one.
	NearReplaces Nearness = "replaces"
	// NearDatum has the same datum, and an area of use in common.
	NearDatum Nearness = "same_datum"
	// NearArea has nearly the same area of use.
	NearArea Nearness = "same_area"
	// NearName has the words of the name in its own.
	NearName Nearness = "same_name"
	// NearCode has a code with almost the same digits, or the next one.
	NearCode Nearness = "near_code"
)

// Nearnesses lists every [Nearness].
func Nearnesses() []Nearness {
	return []Nearness{NearReplaces, NearDatum, NearArea, NearName, NearCode}
}

// neighbour is a system with its distance from a name; 0 is the nearest.
type neighbour struct {
	Neighbour

	distance float64
}

// Near lists the supported systems that are nearest to a name which is not supported,
// at most as many as asked for: by datum and area of use where the name is known to
// the EPSG dataset or to ESRI, otherwise by its words or digits.
func Near(name string, most int) []Neighbour {
	judge := byDigits(name)
	if r := entry(name); r != nil {
		judge = byEntry(r)
	}
	var all []neighbour
	for r := range rows(systemTable) {
		if r[colMethod] == methodDatum {
			continue
		}
		if why, distance, near := judge(r); near {
			all = append(all, neighbour{Neighbour{Code: "EPSG:" + r[colCode], Name: r[colName], Why: why}, distance})
		}
	}
	slices.SortStableFunc(all, func(a, b neighbour) int { return cmp.Compare(a.distance, b.distance) })
	var out []Neighbour
	for _, n := range all[:min(most, len(all))] {
		out = append(out, n.Neighbour)
	}
	return out
}

// judge says whether and why a supported system is near, and how far off it is.
type judge func(r row) (why Nearness, distance float64, near bool)
