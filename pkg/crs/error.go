package crs

import (
	"fmt"
	"strconv"
	"strings"
)

// MissingGridError is returned if a grid is known for two systems, none of its files is loaded, and the caller does not
// accept parameters.
type MissingGridError struct {
	From, To *CRS
	Files    []string // any one of these is enough
}

// Error names the files that would help.
func (e *MissingGridError) Error() string {
	return fmt.Sprintf("no grid file for %s (%s) to %s (%s): add %s, or allow the operation by parameters",
		e.From.code, e.From.name, e.To.code, e.To.name, strings.Join(e.Files, " or "))
}

// longest is the longest foreign text, in bytes, that a message repeats.
const longest = 80

func cut(s string) string {
	if runes := []rune(s); len(runes) > longest {
		return string(runes[:longest-1]) + "…"
	}
	return s
}

// Reason tells why a coordinate cannot be transformed.
type Reason string

const (
	// ReasonNonFinite is a coordinate that is NaN or infinite.
	ReasonNonFinite Reason = "non_finite"
	// ReasonOutsideSource is a coordinate outside of the domain of the source CRS: it is wrong, swapped, or belongs to
	// another CRS.
	ReasonOutsideSource Reason = "outside_source"
	// ReasonOutsideTarget is a place outside of the domain of the target CRS.
	ReasonOutsideTarget Reason = "outside_target"
	// ReasonOutsideGrid is a place that no grid file covers, if the caller asked for [OutsideRefuse].
	ReasonOutsideGrid Reason = "outside_grid"
)

// RangeError is returned for a coordinate outside of the domain of a CRS. It is permanent and concerns this coordinate
// only.
type RangeError struct {
	Reason Reason
	CRS    *CRS    // the CRS whose domain is exceeded
	X, Y   float64 // the coordinate as it was given, in its order
}

// hinted is the number of candidates in a hint.
const hinted = 5

// Hint returns what the coordinate looks like ([Guess]) as a sentence without its end, or "" if no system fits.
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
	var words []string
	for _, g := range guesses[:min(hinted, len(guesses))] {
		words = append(words, g.String())
	}
	hint := "these numbers look like " + strings.Join(words, " or ")
	if more := len(guesses) - hinted; more > 0 {
		hint += fmt.Sprintf(", or like %d others", more)
	}
	return hint
}

// Error states the limit and what the numbers look like.
func (e *RangeError) Error() string {
	at := number64(e.X) + ", " + number64(e.Y)
	switch e.Reason {
	case ReasonNonFinite:
		return "the coordinate " + at + " is not finite"
	case ReasonOutsideGrid:
		return "the coordinate " + at + " of " + e.CRS.code + " (" + e.CRS.name + ") is a place that the grid file does not cover"
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

// number64 formats a number with all its digits.
func number64(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
