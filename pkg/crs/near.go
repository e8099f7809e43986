package crs

import (
	"math"
	"strconv"
	"strings"
	"unicode"
)

// What is near.
const (
	sharedArea = 0.2 // of the union of two areas
	nextCodes  = 20  // numbers
)

// byEntry judges by what the EPSG dataset or ESRI says of a system.
func byEntry(asked row) judge {
	area, hasArea := parseArea(asked[nameArea])
	base := datumOf(asked[nameName])
	_, code, _ := strings.Cut(asked[nameCode], ":")
	return func(r row) (Nearness, float64, bool) {
		shared := 0.0
		if hasArea {
			shared = area.overlap(r.bounds(colArea))
		}
		switch {
		case asked[nameReplaced] == "EPSG:"+r[colCode]:
			return NearReplaces, 0, true
		case shared > 0 && (base == datumOf(r[colName]) || base == datum(r.code(colDatum)).name()):
			return NearDatum, 2 - shared + unlikeness(asked[nameName], r[colName]), true
		case shared >= sharedArea:
			return NearArea, 4 - shared, true
		case strings.HasPrefix(asked[nameCode], "EPSG:"):
			return byGap(code, r)
		}
		return "", 0, false
	}
}

// byDigits judges by the digits of a name, or by its words when it has no number.
func byDigits(name string) judge {
	authority, code, _ := splitName(strings.ToUpper(strings.TrimSpace(name)))
	if authority == "" {
		code = strings.TrimSpace(name)
	}
	if _, err := strconv.Atoi(code); err == nil && (authority == "" || authority == "EPSG") {
		return func(r row) (Nearness, float64, bool) { return byGap(code, r) }
	}
	words := letters(name)
	return func(r row) (Nearness, float64, bool) {
		known := letters(r[colName])
		return NearName, float64(len(known) - len(words)), len(words) > 2 && strings.Contains(known, words)
	}
}

// byGap judges by the digits of a code.
func byGap(code string, r row) (Nearness, float64, bool) {
	asked, err := strconv.Atoi(code)
	apart := math.Abs(float64(asked - r.code(colCode)))
	switch {
	case err != nil:
		return "", 0, false
	case code == r[colCode]:
		return NearCode, 0, true
	case oneEdit(code, r[colCode]):
		return NearCode, 5 + apart/1e6, true
	}
	return NearCode, 6 + apart, apart <= nextCodes
}

// parseArea reads an area of nameTable.
func parseArea(s string) (Bounds, bool) {
	var v [4]float64
	fields := strings.Fields(s)
	if len(fields) != len(v) {
		return Bounds{}, false
	}
	for i, f := range fields {
		var err error
		if v[i], err = strconv.ParseFloat(f, 64); err != nil {
			return Bounds{}, false
		}
	}
	return Bounds{v[0], v[1], v[2], v[3]}, true
}

// overlap returns what two areas of longitudes and latitudes share, as a part of what
// either covers.
func (b Bounds) overlap(other Bounds) float64 {
	b, other = b.unwrapped(), other.unwrapped()
	height := min(b.MaxY, other.MaxY) - max(b.MinY, other.MinY)
	width := 0.0
	for _, turn := range []float64{-360, 0, 360} {
		width = max(width, min(b.MaxX, other.MaxX+turn)-max(b.MinX, other.MinX+turn))
	}
	if height <= 0 || width <= 0 {
		return 0
	}
	shared := width * height
	return shared / (b.size() + other.size() - shared)
}

// unwrapped makes a box that crosses the antimeridian one whose MaxX is above 180.
func (b Bounds) unwrapped() Bounds {
	if b.MinX > b.MaxX {
		b.MaxX += 360
	}
	return b
}

// size returns the area of a box in its own units squared.
func (b Bounds) size() float64 { return (b.MaxX - b.MinX) * (b.MaxY - b.MinY) }

// datumOf returns what stands before the slash of a name.
func datumOf(name string) string {
	base, _, _ := strings.Cut(name, " / ")
	return base
}

// unlikeness returns how much of two names differs: 0 is nothing, 1 is all.
func unlikeness(a, b string) float64 {
	same := 0
	for same < min(len(a), len(b)) && a[same] == b[same] {
		same++
	}
	return 1 - float64(same)/float64(max(len(a), len(b), 1))
}

// letters returns the letters and digits of a name, small.
func letters(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, cut(name))
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
