package crs

import (
	"fmt"
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

// Error names the supported systems, and the forms of a name.
func (e *UnknownError) Error() string {
	return fmt.Sprintf("unknown coordinate reference system %q; supported are %s, as EPSG:25832, "+
		"urn:ogc:def:crs:EPSG::25832 or http://www.opengis.net/def/crs/EPSG/0/25832",
		cut(e.Name), strings.Join(e.Supported(), ", "))
}

// longest is how much of a foreign text is repeated in a message.
const longest = 80

func cut(s string) string {
	if runes := []rune(s); len(runes) > longest {
		return string(runes[:longest-1]) + "…"
	}
	return s
}

// Reason says why a coordinate cannot be transformed.
type Reason string

const (
	// ReasonNonFinite is a coordinate that is no number, or infinite.
	ReasonNonFinite Reason = "non_finite"
	// ReasonOutsideSource is a coordinate that the source CRS does not reach: it
	// is wrong, swapped, or belongs to another CRS.
	ReasonOutsideSource Reason = "outside_source"
	// ReasonOutsideTarget is a place that the target CRS does not reach.
	ReasonOutsideTarget Reason = "outside_target"
)

// Reasons lists every [Reason].
func Reasons() []Reason { return []Reason{ReasonNonFinite, ReasonOutsideSource, ReasonOutsideTarget} }

// RangeError says that a coordinate is outside what a CRS reaches. It is
// permanent, and about this coordinate only.
type RangeError struct {
	Reason Reason
	CRS    *CRS    // whose domain is exceeded
	X, Y   float64 // the coordinate as it was given, in its order
	Index  int     // its place among the positions of [ForwardPoints]; otherwise 0
}

// Hint says what the coordinate looks like ([Guess]), as a sentence without its
// end, or "" when nothing can be said.
func (e *RangeError) Hint() string {
	if e.Reason != ReasonOutsideSource {
		return ""
	}
	lon, lat := e.X, e.Y
	if e.CRS.order == AxisYX {
		lon, lat = lat, lon
	}
	if e.CRS.Unit() == Degree && lon > 180 && lon <= 360 && lat >= -90 && lat <= 90 {
		return "the longitude looks counted from 0 to 360: subtract 360"
	}
	guesses := Guess(e.X, e.Y)
	if len(guesses) == 0 {
		return ""
	}
	words := make([]string, len(guesses))
	for i, g := range guesses {
		words[i] = g.String()
	}
	return "these numbers look like " + strings.Join(words, " or ")
}

// Error says where the limit is and what the numbers look like.
func (e *RangeError) Error() string {
	at := number64(e.X) + ", " + number64(e.Y)
	switch e.Reason {
	case ReasonNonFinite:
		return "the coordinate " + at + " is not finite"
	case ReasonOutsideTarget:
		return fmt.Sprintf("the coordinate %s is a place that %s (%s) does not reach; it goes from %s",
			at, e.CRS.code, e.CRS.name, e.CRS.Domain().lonLat())
	default:
		message := fmt.Sprintf("the coordinate %s is outside %s (%s), which goes from %s",
			at, e.CRS.code, e.CRS.name, e.CRS.Domain().lonLat())
		if hint := e.Hint(); hint != "" {
			message += "; " + hint
		}
		return message
	}
}

// number64 writes a number with as many digits as it has.
func number64(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
